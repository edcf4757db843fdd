/** Enrollment of the second factor, which an operator may need before anything else. */

import { SecondFactor } from "../../account/second-factor.js";
import type { AccountAnswer } from "../../account/facts.js";
import { Link } from "../../app/router.js";
import { call } from "../../data/api.js";
import { useResource } from "../../data/resource.js";
import { Loaded } from "../../parts/loaded.js";
import { Note } from "../../parts/notice.js";

export default function EnrollPage() {
  const account = useResource((signal) => call<AccountAnswer>("GET", "/v3/session", { signal }), []);
  return (
    <>
      <h1>Second factor</h1>
      <Loaded of={account} what="your account">
        {(shown) => (
          <>
            {shown.totp ? (
              <Note kind="done">
                Your second factor is enrolled. <Link to="/operator">Go to the day of the operators</Link>
              </Note>
            ) : (
              <Note kind="warning">
                Operators of this service may need a second factor before they can do anything else.
              </Note>
            )}
            <SecondFactor account={shown} onEnrolled={account.reload} />
          </>
        )}
      </Loaded>
    </>
  );
}
