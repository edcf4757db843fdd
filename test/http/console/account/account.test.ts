import { expect } from "chai";
import { codeAt } from "../../../../http/auth/totp.js";
import { expectSound, serveConsole } from "../../../support/console/browser.js";
import { checkIn, register, sendLogin, signIn, welcome } from "../../../support/console/visitor.js";
import { addOperator } from "../../../support/operators.js";

describe("account in the console", function () {
  this.timeout(60_000);
  const served = serveConsole();

  it("begins with a registration, which a known address and a short password do not get", async () => {
    const opened = await served.visit("/register");
    const { page } = opened;
    await page.getByLabel("E-mail").fill("nobody");
    await page.getByLabel("Password").fill("a long password");
    await page.getByRole("button", { name: "Register" }).click();
    await page.getByText("must be an e-mail address").waitFor();
    await page.getByLabel("E-mail").fill("ann@example.com");
    await page.getByLabel("Password").fill("short");
    await page.getByRole("button", { name: "Register" }).click();
    await page.getByText("must have at least 8 characters").waitFor();
    expect(await page.getByLabel("E-mail").inputValue(), "what was typed").to.equal("ann@example.com");
    await expectSound(opened);
    await page.getByLabel("Password").fill("a long password");
    await page.getByRole("button", { name: "Register" }).click();
    await page.getByRole("heading", { name: "Before you can trade" }).waitFor();
    await page.getByText("You have not checked in yet").waitFor();
    await expectSound(opened);

    const again = await served.visit("/register");
    await again.page.getByLabel("E-mail").fill("ann@example.com");
    await again.page.getByLabel("Password").fill("a long password");
    await again.page.getByRole("button", { name: "Register" }).click();
    await again.page.getByText("This address has an account already").waitFor();
    await expectSound(again);
  });

  it("shows the check-in and when it ends, and the identity as the operator sets it", async () => {
    const opened = await served.visit("/");
    const { page } = opened;
    await register(page, "bea@example.com");
    await page.getByLabel("Region").fill("New York");
    await page.getByRole("button", { name: "Check in" }).click();
    await page.getByText("must be an ISO 3166 code").waitFor();
    await checkIn(page, "US-NY");
    await page.getByText("for another 2 d").waitFor();
    await page.getByText("has not yet verified yours").waitFor();
    await welcome(served.stack, "bea@example.com", "12.5");
    await page.reload();
    await page.getByText("Verified.", { exact: true }).waitFor();
    await page.getByText("$12.50", { exact: true }).waitFor();
    await expectSound(opened);
  });

  it("asks to log in when the session has ended, and returns to the same place", async () => {
    const opened = await served.visit("/");
    const { page } = opened;
    await register(page, "cara@example.com");
    await page.goto("/keys?x=1");
    await page.getByText("No keys yet").waitFor();
    await page.evaluate(() => {
      const held = JSON.parse(localStorage.getItem("overround.session") ?? "{}") as object;
      localStorage.setItem("overround.session", JSON.stringify({ ...held, token: "ended" }));
    });
    await page.reload();
    await page.getByText("Log in to open the page that you came from").waitFor();
    await expectSound(opened);
    await sendLogin(page, "cara@example.com", "another password");
    await page.getByText("INVALID_CREDENTIALS").waitFor();
    await sendLogin(page, "cara@example.com");
    await page.getByText("No keys yet").waitFor();
    expect(new URL(page.url()).pathname + new URL(page.url()).search).to.equal("/keys?x=1");
  });

  it("says how long to wait after too many wrong passwords", async () => {
    const { page } = await served.visit("/");
    await register(page, "dora@example.com");
    const other = await served.visit("/login");
    for (let attempt = 0; attempt < 12; attempt += 1) {
      await sendLogin(other.page, "dora@example.com", `wrong password ${attempt}`);
      await other.page.getByText(/INVALID_CREDENTIALS|RATE_LIMIT_EXCEEDED/).waitFor();
    }
    await other.page.getByText(/Too many attempts; wait \d+ s/).waitFor();
    await expectSound(other);
  });

  it("ends every other session with a new password, and all of them with one button", async () => {
    const [one, two] = [await served.visit("/"), await served.visit("/")];
    await register(one.page, "eve@example.com");
    await signIn(two.page, "eve@example.com", "/account");
    await one.page.getByLabel("Present password").fill("a long password");
    await one.page.getByLabel("New password").fill("a longer password");
    await one.page.getByRole("button", { name: "Change the password" }).click();
    await one.page.getByText("The password is changed").waitFor();
    await two.page.reload();
    await two.page.getByText("Log in to open the page that you came from").waitFor();
    await sendLogin(two.page, "eve@example.com", "a longer password");
    await two.page.getByRole("heading", { name: "Account" }).waitFor();
    await two.page.getByRole("button", { name: "Log out everywhere" }).click();
    await two.page.getByRole("link", { name: "Register" }).waitFor();
    await one.page.reload();
    await one.page.getByText("Log in to open the page that you came from").waitFor();
    await expectSound(one);
  });

  it("of an operator enrolls an authenticator app, and the sign-in then asks for its code", async () => {
    const { email, password } = await addOperator(served.stack, "viewer");
    const opened = await served.visit("/login?next=/account");
    const { page } = opened;
    await sendLogin(page, email, password);
    await page.getByLabel("Your password").fill(password);
    await page.getByRole("button", { name: "Show a secret for the app" }).click();
    const secret = ((await page.locator("pre").textContent()) ?? "").replaceAll(" ", "");
    await page.getByLabel("One-time password that the app shows").fill(codeAt(secret, Date.now()));
    await page.getByRole("button", { name: "Enroll" }).click();
    await page.getByText("Each of these recovery codes works once").waitFor();
    const [recoveryCode = ""] = ((await page.locator("pre").textContent()) ?? "").split("\n");
    await expectSound(opened);
    // The test framework answers questions of the page with no.
    await page.getByRole("link", { name: "Overround" }).click();
    await page.getByRole("button", { name: "Log out", exact: true }).click();
    await page.getByText("Each of these recovery codes works once").waitFor();
    await page.getByRole("button", { name: "I have kept them" }).click();
    await page.getByRole("button", { name: "Log out here" }).click();
    await page.getByRole("link", { name: "Log in" }).click();
    await sendLogin(page, email, password);
    await page.getByLabel("One-time password").fill(recoveryCode);
    await page.getByRole("button", { name: "Log in", exact: true }).click();
    await page.getByRole("link", { name: email }).waitFor();
  });
});
