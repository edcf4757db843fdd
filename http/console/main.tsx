/** Entry of the console: shows the shell, and the page of the address within it. */

import { render } from "preact";
import "./design/tokens.css";
import "./design/base.css";
import "./design/parts.css";
import { watchRelease } from "./app/release.js";
import { Shell } from "./app/shell.js";
import { isHeld } from "./app/stays.js";

const root = document.getElementById("app");
if (root === null) throw new Error("the document has no element with the id app");
const show = (): void => render(<Shell />, root);
watchRelease();
show();
// The browser may keep this document for Back, where a secret would be shown again.
window.addEventListener("pagehide", () => {
  if (isHeld()) render(null, root);
});
window.addEventListener("pageshow", ({ persisted }) => {
  if (persisted) show();
});
