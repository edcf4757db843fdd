/** Previews of grades and remediations, which change nothing (contract section 8.9). */

import { call } from "../../data/api.js";
import { useResource, type Resource } from "../../data/resource.js";
import type { MarketAnswer, Payouts } from "../answers.js";
import { payoutRows, type Grade } from "./grade.js";

const PREVIEW = { preview: "true" } as const;

/** Reads payouts. Throws when an amount is not money, so that nobody approves a sum without it. */
async function read(path: string, body: object, signal: AbortSignal): Promise<Payouts> {
  const payouts = await call<Payouts>("POST", path, { query: PREVIEW, body, signal });
  payoutRows(payouts);
  return payouts;
}

/**
 * Reads the payouts of a grade; nothing without a grade, or while the operator may not grade. A change of the market's
 * status drops the payouts, because orders that filled until its close change them.
 */
export function useGradePreview(
  { marketId, status }: MarketAnswer,
  grade: Grade | undefined,
): Resource<Payouts | undefined> {
  return useResource(
    async (signal) => {
      if (grade === undefined) return undefined;
      return read(`/admin/v1/markets/${marketId}/grade`, grade, signal);
    },
    [marketId, status, JSON.stringify(grade)],
  );
}

/** Reads what a remediation takes back; nothing while `wanted` is false. */
export function useReversalPreview(marketId: string, wanted: boolean): Resource<Payouts | undefined> {
  return useResource(
    async (signal) => {
      if (!wanted) return undefined;
      return read(`/admin/v1/markets/${marketId}/remediate`, { reason: "preview" }, signal);
    },
    [marketId, wanted],
  );
}
