import { defineConfig } from "vite";

/** Builds the pages into `.build/console`, which the gateway serves at `/` (see ../pages.ts). */
export default defineConfig({
  root: import.meta.dirname,
  logLevel: "warn",
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: "../../.build/console",
    emptyOutDir: true,
    target: "es2022",
    // The content security policy admits files of the service only, and no inline data but images.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    sourcemap: false,
  },
});
