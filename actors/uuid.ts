/** The only definition of the text of a UUID. Every id of the exchange is a UUID. */

function uuidOf(hexDigit: string): string {
  return [8, 4, 4, 4, 12].map((length) => `${hexDigit}{${length}}`).join("-");
}

/** Source of the pattern of a UUID in either letter case, without anchors, for use inside longer patterns. */
export const UUID_PATTERN = uuidOf("[0-9a-fA-F]");

/** Matches a UUID in either letter case, as clients may send it. */
export const UUID = new RegExp(`^${UUID_PATTERN}$`);

/** Matches a UUID in lower case, which is how the exchange writes every id. */
export const LOWER_UUID = new RegExp(`^${uuidOf("[0-9a-f]")}$`);
