/** Status of the service for everybody: what works, how far the lists are behind, what is planned and what has changed. */

import type { ComponentChildren } from "preact";
import type { z } from "zod";
import type { Status as StatusAnswer } from "../../surface-a/schemas/status.js";
import { call } from "../data/api.js";
import { showQuantity } from "../data/money.js";
import { useResource } from "../data/resource.js";
import { showDuration, showSeconds } from "../data/time.js";
import { Button } from "../parts/button.js";
import { Empty, Skeleton } from "../parts/loaded.js";
import { Notice } from "../parts/notice.js";
import { Time } from "../parts/values.js";
import { heading, listsLine, signInLine, tradingLine, type Line } from "./words.js";
import "./status.css";

type Answer = z.infer<typeof StatusAnswer>;
type Announcement = Answer["announcements"][number];

const EVERY_MS = 3_000;

export default function StatusPage() {
  const status = useResource((signal) => call<Answer>("GET", "/v3/public/status", { signal }), [], {
    everyMs: EVERY_MS,
  });
  const { value, refusal, asOf, loading, reload } = status;
  return (
    <article class="status">
      <h1>Status</h1>
      {refusal !== undefined && (
        <div class="status-away">
          <Notice refusal={refusal} reads="the status" />
          <p>
            {asOf === undefined
              ? "Nothing is known about the service yet."
              : `Below is what was known at ${showSeconds(asOf)}.`}{" "}
            This page asks again every {EVERY_MS / 1_000} s.
          </p>
          <Button busy={loading} onClick={reload}>
            Ask again
          </Button>
        </div>
      )}
      {value === undefined && refusal === undefined && <Skeleton rows={8} isPage />}
      {value !== undefined && <Known status={value} isOld={refusal !== undefined} />}
    </article>
  );
}

function Known({ status, isOld }: { readonly status: Answer; readonly isOld: boolean }) {
  const { state, maintenance, announcements, announcementsTs, ts } = status;
  const planned = announcements.filter(({ effectiveTs }) => effectiveTs > ts).toReversed();
  const past = announcements.filter(({ effectiveTs }) => effectiveTs <= ts);
  return (
    <>
      <section class={`status-state status-${state.toLowerCase()} ${isOld ? "status-old" : ""}`}>
        <p class="status-heading" role="status">
          {heading(state)}
        </p>
        {maintenance !== null && (
          <p>
            {maintenance.message ?? "The operator has given no reason."} Since{" "}
            <Time ms={maintenance.sinceTs} />, for {showDuration(ts - maintenance.sinceTs)}.
          </p>
        )}
        <p class="quiet">
          As of <Time ms={ts} show={showSeconds} />
        </p>
      </section>
      <table class="status-parts">
        <caption class="hidden">What works</caption>
        <tbody>
          <Part name="Trading" line={tradingLine(status.trading)} />
          <Part name="Lists and history" line={listsLine(status.lists)}>
            {status.lag !== null && status.lag > 0 && ` ${showQuantity(status.lag)} entries behind.`}
          </Part>
          <Part name="Sign-in and keys" line={signInLine(status.accounts)} />
        </tbody>
      </table>
      <Announcements title="Planned" list={planned} empty="Nothing is planned." readTs={announcementsTs} />
      <Announcements
        title="Changes"
        list={past}
        empty="Nothing has been announced yet."
        readTs={announcementsTs}
      />
      {announcementsTs !== null && ts - announcementsTs > EVERY_MS && (
        <p class="quiet">
          The announcements are of <Time ms={announcementsTs} />; newer ones cannot be read now.
        </p>
      )}
    </>
  );
}

interface PartProps {
  readonly name: string;
  readonly line: Line;
  readonly children?: ComponentChildren;
}

/** One part of the service: its state by word and shape, and what that means for people. */
function Part({ name, line, children }: PartProps) {
  return (
    <tr>
      <th scope="row">{name}</th>
      <td class={`status-word status-word-${line.level}`}>{line.word}</td>
      <td>
        {line.meaning}
        {children}
      </td>
    </tr>
  );
}

interface AnnouncementsProps {
  readonly title: string;
  readonly list: readonly Announcement[];
  readonly empty: string;
  readonly readTs: number | null;
}

function Announcements({ title, list, empty, readTs }: AnnouncementsProps) {
  return (
    <section>
      <h2>{title}</h2>
      {list.length === 0 &&
        (readTs === null ? (
          <Empty title="The announcements cannot be read now" />
        ) : (
          <p class="quiet">{empty}</p>
        ))}
      <ol class="status-list">
        {list.map(({ changeId, title: name, body, effectiveTs }) => (
          <li key={changeId}>
            <Time ms={effectiveTs} />
            <div>
              <h3>{name}</h3>
              <p class="status-body">{body}</p>
            </div>
          </li>
        ))}
      </ol>
    </section>
  );
}
