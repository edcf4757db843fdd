/** Entry of the console: shows the shell, and the page of the address within it. */

import { render } from "preact";
import "./design/tokens.css";
import "./design/base.css";
import "./design/parts.css";
import { watchRelease } from "./app/release.js";
import { Shell } from "./app/shell.js";

const root = document.getElementById("app");
if (root === null) throw new Error("the document has no element with the id app");
watchRelease();
render(<Shell />, root);
