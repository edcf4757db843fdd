/** Page that creates an event together with its first set of markets. */

import { useRef, useState } from "preact/hooks";
import { Link, navigate } from "../../app/router.js";
import { call } from "../../data/api.js";
import { useAction } from "../../data/action.js";
import { useResource } from "../../data/resource.js";
import { Button } from "../../parts/button.js";
import { Choice, TextField } from "../../parts/field.js";
import { Empty, Loaded } from "../../parts/loaded.js";
import { Note, Notice } from "../../parts/notice.js";
import type { EventAnswer } from "../answers.js";
import { Denied } from "../denied.js";
import { Frame } from "../frame.js";
import { BatchReport } from "../markets/batch-report.js";
import type { Batch } from "../markets/actions.js";
import { createMarkets } from "../markets/create.js";
import { NEW_SET, planOf, SetFields } from "../markets/set-fields.js";
import { marketsOf } from "../markets/sets.js";
import { whyNot } from "../permission.js";
import { plural } from "../words.js";
import { eventCreation } from "./create.js";
import { fromField, StartField, toField, VisibleField } from "./fields.js";

interface League {
  readonly name: string;
  readonly sport: string;
}

const HOUR_MS = 3_600_000;

export default function NewEventPage() {
  const leagues = useResource(
    async (signal) => (await call<{ items: League[] }>("GET", "/admin/v1/leagues", { signal })).items,
    [],
  );
  return (
    <Frame title="New event">
      <Denied permission="markets" />
      <Loaded
        of={leagues}
        what="the leagues"
        empty={
          <Empty title="There is no league">
            <p>An event belongs to a league. Create one under Reference first.</p>
          </Empty>
        }
      >
        {(found) => <Form leagues={found} />}
      </Loaded>
    </Frame>
  );
}

function Form({ leagues }: { readonly leagues: readonly League[] }) {
  const [leagueName, setLeagueName] = useState(leagues[0]?.name ?? "");
  const [type, setType] = useState<EventAnswer["type"]>("Game");
  const [home, setHome] = useState("");
  const [away, setAway] = useState("");
  const [typed, setTyped] = useState<string>();
  const [start, setStart] = useState(() => toField(Math.ceil(Date.now() / HOUR_MS) * HOUR_MS + HOUR_MS));
  const [visible, setVisible] = useState(true);
  const [input, setInput] = useState(NEW_SET);
  const [event, setEvent] = useState<EventAnswer>();
  const [created, setCreated] = useState(0);
  const [batch, setBatch] = useState<Batch>();
  const creation = useRef(eventCreation());

  const isGame = type !== "Future";
  const sides = { home: home.trim(), away: away.trim() };
  const described = isGame && sides.home !== "" && sides.away !== "" ? `${sides.away} at ${sides.home}` : "";
  const description = typed ?? described;
  const startsTs = fromField(start);
  const plan = planOf(input);
  const planned = plan === undefined || !isGame ? [] : marketsOf(plan, sides);
  const sport = leagues.find(({ name }) => name === leagueName)?.sport;

  const create = useAction(async () => {
    if (sport === undefined || startsTs === undefined) return;
    const game = { homeTeam: { name: sides.home }, awayTeam: { name: sides.away } };
    // A second try after markets were refused must not create the event again.
    const made =
      event ??
      (await creation.current({
        sport,
        league: leagueName,
        type,
        description: description.trim(),
        startsTs,
        visible,
        ...(isGame ? { game } : {}),
      }));
    setEvent(made);
    setCreated(0);
    const result = await createMarkets(made.eventId, planned, setCreated);
    setBatch(result);
    if (result.refused.length === 0) navigate(`/operator/events/${made.eventId}`);
  });

  const reason =
    whyNot("markets") ??
    (isGame && (sides.home === "" || sides.away === "")
      ? "Name both sides first."
      : description.trim() === ""
        ? "Describe the event first."
        : startsTs === undefined
          ? "Enter the start first."
          : plan === undefined
            ? "Correct the markets first."
            : undefined);

  return (
    <form
      onSubmit={(submitted) => {
        submitted.preventDefault();
        if (reason === undefined) create.run();
      }}
    >
      <div class="operator-fields">
        <Choice
          label="League"
          value={leagueName}
          choices={leagues.map(({ name, sport: its }) => [name, its === name ? name : `${name} (${its})`])}
          onChange={setLeagueName}
        />
        <Choice
          label="Type"
          hint="The type decides the fees of markets that name none."
          value={type}
          choices={[
            ["Game", "game"],
            ["REGULAR_SEASON", "game of the regular season"],
            ["Future", "future, such as the winner of a league"],
          ]}
          onChange={setType}
        />
        {isGame && <TextField label="Home side" value={home} onInput={setHome} />}
        {isGame && <TextField label="Away side" value={away} onInput={setAway} />}
        <TextField label="Description" value={description} onInput={setTyped} />
        <StartField value={start} onInput={setStart} />
      </div>
      <VisibleField visible={visible} onChange={setVisible} />
      <h2>Markets</h2>
      {isGame ? (
        <>
          <SetFields input={input} onInput={setInput} home={sides.home} />
          {planned.length > 0 && sides.home !== "" && sides.away !== "" && (
            <ul class="markets-plan" aria-label="Markets to be created">
              {planned.map((market) => (
                <li key={market.description}>{market.description}</li>
              ))}
            </ul>
          )}
        </>
      ) : (
        <p class="quiet">Create the future first, and then add its markets on its page.</p>
      )}
      <Notice refusal={create.refusal} onDismiss={create.dismiss} />
      {event !== undefined && !create.busy && (
        <Note kind="warning">
          <p>
            The event exists: <Link to={`/operator/events/${event.eventId}`}>{event.description}</Link>. Only
            the markets that it does not have are created now.
          </p>
        </Note>
      )}
      <BatchReport batch={batch} done="created" />
      <div class="buttons">
        <Button kind="main" submits busy={create.busy} reason={reason}>
          {create.busy
            ? `Creating ${created} of ${planned.length} markets`
            : planned.length === 0
              ? "Create the event"
              : `Create the event and ${plural(planned.length, "market")}`}
        </Button>
      </div>
    </form>
  );
}
