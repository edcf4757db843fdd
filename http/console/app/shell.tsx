/** Frame of every page: the header with the navigation, the page of the address, and the footer. */

import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { session, signInAddress, type Session } from "../data/session.js";
import { logOut } from "../data/sign-in.js";
import { settings } from "../data/settings.js";
import { Welcome } from "../demo/welcome.js";
import { Button } from "../parts/button.js";
import { Empty, Skeleton } from "../parts/loaded.js";
import { Note } from "../parts/notice.js";
import { PriceSwitch } from "../parts/price-switch.js";
import { PAGES, type Page, type PageProps } from "./pages.js";
import { matchPath } from "./paths.js";
import { address, Link, navigate } from "./router.js";
import { mayLeave } from "./stays.js";
import { nextTheme, theme } from "./theme.js";

/** Returns the page of an address, and the parameters in it. */
function pageAt(path: string): readonly [Page, PageProps] | undefined {
  for (const page of PAGES) {
    const parameters = matchPath(page.path, path);
    if (parameters !== undefined) return [page, parameters];
  }
  return undefined;
}

function mayOpen(page: Page, held: Session | undefined): boolean {
  switch (page.for) {
    case "everybody":
      return true;
    case "accounts":
      return held !== undefined;
    case "traders":
      return held?.role === "trader";
    case "operators":
      return held?.role === "operator";
    default:
      return page.for satisfies never;
  }
}

/** Address of the first page: that of the operators on a port of their own. */
const HOME = settings.clients ? "/" : "/operator";

/** The console. */
export function Shell() {
  const { pathname } = address.value;
  const found = pageAt(pathname);
  const isElsewhere = pathname === "/" && HOME !== "/";
  useEffect(() => {
    if (isElsewhere) navigate(HOME, { replace: true });
  }, [isElsewhere]);
  return (
    <>
      <a class="skip" href="#page">
        Skip to the page
      </a>
      <Header />
      <main id="page" tabIndex={-1}>
        {pathname === "/" && <Welcome />}
        {isElsewhere ? null : found === undefined ? (
          <NotFound />
        ) : (
          <Opened page={found[0]} parameters={found[1]} />
        )}
      </main>
      <Footer hasPrices={found?.[0].for === "operators"} />
    </>
  );
}

function NotFound() {
  return (
    <Empty title="There is no page at this address">
      <p>
        <Link to="/">See all markets</Link>
      </p>
    </Empty>
  );
}

/** A page, once its code is there and its visitor may open it. */
function Opened({ page, parameters }: { readonly page: Page; readonly parameters: PageProps }) {
  const [loaded, setLoaded] = useState<{ readonly page: Page; readonly View: ComponentType<PageProps> }>();
  const [failed, setFailed] = useState<Page>();
  const admitted = mayOpen(page, session.value);
  const isElsewhere = page.for !== "everybody" && session.value === undefined;

  useEffect(() => {
    document.title = `${page.title} · Overround`;
    if (isElsewhere) navigate(signInAddress(), { replace: true });
    if (!admitted) return;
    setFailed(undefined);
    // A page that was left before its code arrived is not shown.
    let isOver = false;
    page.load().then(
      ({ default: View }) => {
        if (!isOver) setLoaded({ page, View });
      },
      () => {
        if (!isOver) setFailed(page);
      },
    );
    return () => {
      isOver = true;
    };
  }, [page, admitted, isElsewhere]);

  if (!admitted && !isElsewhere)
    return (
      <Empty title={`This page is for ${page.for}`}>
        <p>You are signed in as {session.value?.email}. Sign in with another account to open it.</p>
      </Empty>
    );
  if (failed === page)
    return (
      <Note kind="warning">
        <p>The code of this page could not be loaded. Check the connection, then try again.</p>
        <Button onClick={() => window.location.reload()}>Try again</Button>
      </Note>
    );
  if (loaded?.page !== page || !admitted) return <Skeleton rows={6} isPage />;
  return <loaded.View {...parameters} />;
}

function Header() {
  const held = session.value;
  return (
    <header class="header">
      <Link to={HOME} class="header-name">
        Overround
      </Link>
      <nav aria-label="Pages">
        {settings.clients && <Link to="/">Markets</Link>}
        {held?.role === "trader" && <Link to="/portfolio">Portfolio</Link>}
        {held?.role === "trader" && <Link to="/keys">Keys</Link>}
        {held?.role === "operator" && settings.admin && <Link to="/operator">Operator</Link>}
        {settings.clients && <Link to="/status">Status</Link>}
      </nav>
      <div class="header-account">
        {held === undefined ? (
          <>
            <Link to={signInAddress()}>Log in</Link>
            {settings.clients && (
              <Link to="/register" class="header-register">
                Register
              </Link>
            )}
          </>
        ) : (
          <>
            <Link to="/account" class="header-email">
              {held.email}
            </Link>
            <Button
              kind="quiet"
              onClick={() => {
                if (mayLeave()) void logOut().then(() => navigate("/"));
              }}
            >
              Log out
            </Button>
          </>
        )}
      </div>
    </header>
  );
}

/** The footer. It has the switch of prices on operators' pages, which have none beside their prices. */
function Footer({ hasPrices }: { readonly hasPrices: boolean }) {
  return (
    <footer class="footer">
      {hasPrices && <PriceSwitch />}
      <nav aria-label="More">
        {settings.clients && (
          <>
            <a href="/docs">API</a>
            <Link to="/lab">Signature lab</Link>
            <Link to="/status">Status</Link>
          </>
        )}
        <Button kind="quiet" label={`Appearance: ${theme.value}. Change it`} onClick={nextTheme}>
          Appearance: {theme.value}
        </Button>
      </nav>
    </footer>
  );
}
