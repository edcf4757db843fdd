/** Desk: finds a trader by a part of the e-mail address or by id, and an order by its id. */

import type { z } from "zod";
import type { AdminTrader } from "../../../admin/schemas/traders.js";
import { UUID } from "../../../../actors/uuid.js";
import { useEffect, useState } from "preact/hooks";
import { Link, navigate, useQuery } from "../../app/router.js";
import { useAction } from "../../data/action.js";
import { call } from "../../data/api.js";
import { asRefusal } from "../../data/refusal.js";
import { TextField } from "../../parts/field.js";
import { Notice } from "../../parts/notice.js";
import type { Column } from "../../parts/table.js";
import { Time } from "../../parts/values.js";
import { Frame } from "../frame.js";
import { Paged } from "../paged.js";
import { kycWord, stateWord } from "./words.js";
import "./desk.css";

type Trader = z.infer<typeof AdminTrader>;

/** Shortest part of an address that the service searches for. */
const MIN_SEARCH = 3;
/** Time in ms without a key press after which the search begins. */
const TYPING_MS = 250;

const COLUMNS: readonly Column<Trader>[] = [
  { title: "E-mail", cell: ({ traderId, email }) => <Link to={`/operator/desk/${traderId}`}>{email}</Link> },
  { title: "State", cell: (trader) => stateWord(trader) },
  { title: "Identity", cell: ({ kyc }) => kycWord(kyc) },
  { title: "Since", cell: ({ createdTs }) => <Time ms={createdTs} />, wide: true },
];

export default function DeskPage() {
  const [search, setSearch] = useQuery("search");
  const [text, setText] = useState(search);
  const wanted = text.trim();
  const open = useAction(async (id: string) => navigate(await addressOf(id)));
  useEffect(() => {
    if (UUID.test(wanted)) {
      open.run(wanted.toLowerCase());
      return;
    }
    const timer = setTimeout(() => setSearch(wanted), TYPING_MS);
    return () => clearTimeout(timer);
  }, [wanted]);
  const isSearch = search.length >= MIN_SEARCH;
  return (
    <Frame title="Desk">
      <div role="search" class="form desk-search">
        <TextField
          label="Find a trader or an order"
          type="search"
          value={text}
          onInput={setText}
          hint={`A part of the e-mail address, at least ${MIN_SEARCH} characters; or the id of a trader or an order.`}
        />
      </div>
      <Notice refusal={open.refusal} onDismiss={open.dismiss} />
      <h2>{isSearch ? `Accounts with "${search}"` : "Newest accounts"}</h2>
      <Paged
        path="/admin/v1/traders"
        query={isSearch ? { search } : {}}
        label="Accounts"
        columns={COLUMNS}
        keyOf={({ traderId }: Trader) => traderId}
        empty={isSearch ? "No account has this in its e-mail address" : "Nobody has registered yet"}
      />
    </Frame>
  );
}

/** Returns the address of the page of the trader, or else of the order, that has an id. Throws `Refusal`. */
async function addressOf(id: string): Promise<string> {
  try {
    await call("GET", `/admin/v1/traders/${id}`);
    return `/operator/desk/${id}`;
  } catch (error) {
    if (asRefusal(error).code !== "TRADER_NOT_FOUND") throw error;
  }
  const { traderId } = await call<{ traderId: string }>("GET", `/admin/v1/orders/${id}`);
  return `/operator/desk/${traderId}/${id}`;
}
