/** Content that is shown only once, such as a new secret: an element with `data-stays` keeps its page and its dialog. */

const STAYS = "[data-stays]";
const QUESTION = "What this page shows now cannot be shown again. Leave it all the same?";

/** Returns true while something within `root` has to stay. */
export function isHeld(root: ParentNode = document): boolean {
  return root.querySelector(STAYS) !== null;
}

/** Returns whether the page may be left; asks the visitor while something has to stay. */
export function mayLeave(): boolean {
  return !isHeld() || window.confirm(QUESTION);
}
