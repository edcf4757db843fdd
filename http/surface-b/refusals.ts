/** Refusals in the shape of surface B: `{ statusCode, error, message, code }` (contract section 7.3). */

import { STATUS_CODES } from "node:http";
import type { Response } from "express";
import { meaningOf, statusOnB, wireCode, type Refused } from "../request/errors.js";
import { notesOf } from "../edge/incoming.js";

export function refuseOnB(res: Response, refused: Refused): void {
  const statusCode = statusOnB(refused.code);
  const code = wireCode(refused.code);
  notesOf(res).code = code;
  res
    .status(statusCode)
    .set(refused.headers)
    .json({
      statusCode,
      error: STATUS_CODES[statusCode] ?? "Error",
      message: refused.message || meaningOf(refused.code),
      code,
      ...refused.more,
    });
}
