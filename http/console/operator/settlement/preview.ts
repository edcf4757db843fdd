/** Previews of grades and remediations, which change nothing (contract section 8.9). */

import { call } from "../../data/api.js";
import { useResource, type Resource } from "../../data/resource.js";
import type { Payouts } from "../answers.js";
import type { Grade } from "./grade.js";

const PREVIEW = { preview: "true" } as const;

/** Reads the payouts of a grade; nothing without a grade, or while the operator may not grade. */
export function useGradePreview(marketId: string, grade: Grade | undefined): Resource<Payouts | undefined> {
  return useResource(
    async (signal) => {
      if (grade === undefined) return undefined;
      const path = `/admin/v1/markets/${marketId}/grade`;
      return call<Payouts>("POST", path, { query: PREVIEW, body: grade, signal });
    },
    [marketId, JSON.stringify(grade)],
  );
}

/** Reads what a remediation takes back; nothing while `wanted` is false. */
export function useReversalPreview(marketId: string, wanted: boolean): Resource<Payouts | undefined> {
  return useResource(
    async (signal) => {
      if (!wanted) return undefined;
      const path = `/admin/v1/markets/${marketId}/remediate`;
      return call<Payouts>("POST", path, { query: PREVIEW, body: { reason: "preview" }, signal });
    },
    [marketId, wanted],
  );
}
