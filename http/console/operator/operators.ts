/** Names of operators, which the service knows by their ids. */

import { pages } from "../data/api.js";
import { useResource } from "../data/resource.js";
import { session } from "../data/session.js";

interface Operator {
  readonly traderId: string;
  readonly email: string;
}

/** Returns a function that names an operator by the e-mail address. */
export function useOperatorNames(): (operatorId: string | null) => string {
  const operators = useResource(async (signal) => {
    const found = await pages<Operator>("/admin/v1/operators", { limit: 1_000 }, { signal });
    return new Map(found.map(({ traderId, email }) => [traderId, email]));
  }, []);
  return (operatorId) => {
    if (operatorId === null) return "an operator in the audit log";
    if (operatorId === session.value?.accountId) return "you";
    return operators.value?.get(operatorId) ?? `operator ${operatorId}`;
  };
}
