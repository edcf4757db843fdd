import { expect } from "chai";
import { OPERATOR_ROLES, type OperatorRole } from "../../../db/schema/operator-roles.js";
import { PERMISSIONS } from "../../../http/auth/permissions.js";
import { addOperator, type TestOperator } from "../../support/operators.js";
import { login, startStack, type Stack } from "../../support/stack.js";
import { bearerCalls, operatorCalls, resultOf, type Calls } from "../calls.js";
import { sentLast } from "../resources.js";
import { ROLES_BY_PERMISSION, ruleFor, type Rule } from "./contract.js";
import { ROUTES } from "./routes.js";
import { sampleOf } from "./samples.js";
import { makeWorld, type World } from "./world.js";

/** Routes of operators, in an order in which each request finds what it needs. */
const LINES = [...ROUTES.keys()]
  .filter((line) => line.includes(" /admin/"))
  .toSorted((a, b) => sentLast(a) - sentLast(b));

function isAllowed({ permission = "" }: Rule, role: OperatorRole): boolean {
  return ROLES_BY_PERMISSION.get(permission)?.includes(role) === true;
}

describe("every route of operators, by every role", function () {
  this.timeout(60_000);
  let stack: Stack;
  let world: World;
  let owner: Calls;
  const operators = new Map<OperatorRole, { readonly operator: TestOperator; readonly token: string }>();

  before(async () => {
    stack = await startStack();
    world = await makeWorld(stack);
    owner = await operatorCalls(stack);
    for (const role of OPERATOR_ROLES) {
      const operator = await addOperator(stack, role);
      operators.set(role, { operator, token: await login(stack.url, operator) });
    }
  });
  after(() => stack.stop());

  it("the contract has the permissions of the code, and each route the permission of its row", () => {
    expect(Object.fromEntries(ROLES_BY_PERMISSION)).to.deep.equal(PERMISSIONS);
    const declared = LINES.map((line) => {
      const access = ROUTES.get(line)?.access;
      return [line, access?.kind === "operator" ? access.permission : access?.kind];
    });
    expect(declared).to.deep.equal(LINES.map((line) => [line, ruleFor(line).permission]));
  });

  it("a route that reads needs the permission read, and no other one does; the list of all wallets has its own", () => {
    const reads = LINES.filter((line) => line.startsWith("GET ") && line !== "GET /admin/v1/wallets");
    expect(LINES.filter((line) => ruleFor(line).permission === "read")).to.have.members(reads);
  });

  /** Returns the subjects of the refusals that the audit log has of an operator. */
  const refusalsOf = async (operatorId: string): Promise<readonly unknown[]> => {
    const { json } = await owner("GET /admin/v1/audit-log?limit=200");
    const items = json["items"] as readonly Readonly<Record<string, unknown>>[];
    return items.filter((item) => item["operatorId"] === operatorId && item["action"] === "request refused");
  };

  for (const line of LINES) {
    it(line, async () => {
      const rule = ruleFor(line);
      for (const [role, { operator, token }] of operators) {
        const whose = rule.elsewhere === undefined ? "own" : "missing";
        const raw = await sampleOf(rule, world, whose, false);
        const before = await refusalsOf(operator.traderId);
        const call = bearerCalls(stack.url, token);
        const answer = await call(
          `${raw.method ?? "GET"} ${raw.target}`,
          raw.body === undefined ? undefined : JSON.parse(raw.body.toString()),
        );
        const after = await refusalsOf(operator.traderId);
        if (isAllowed(rule, role)) {
          expect(answer.status, `${role}: ${answer.text}`).to.not.be.oneOf([401, 403]);
          expect(answer.status, `${role}: ${answer.text}`).to.be.below(500);
          expect(after, `${role} has no further refusal`).to.have.length(before.length);
        } else {
          expect(resultOf(answer), role).to.equal("403 FORBIDDEN");
          expect(after, `the refusal of ${role} is recorded`).to.have.length(before.length + 1);
          expect(after[0], role).to.deep.include({
            subject: raw.target.split("?")[0],
            after: { role, permission: rule.permission, asked: line },
          });
        }
      }
    });
  }
});
