import { expect } from "chai";
import type { Notification } from "../../../stream/log/log.js";
import { NotificationListener } from "../../../stream/redis/listener.js";
import type { ChannelListener } from "../../../stream/redis/subscriber.js";
import { ManualClock, microtasksDone } from "../log/support.js";

const CHECK_MS = 1_000;

describe("the notifications of a Redis log", () => {
  it("lead to a scan when their counter goes back, although the lost ones reach the same number again", async () => {
    const clock = new ManualClock();
    let channel: ChannelListener | undefined;
    let count = 5;
    const received: Notification[] = [];
    const listener = new NotificationListener({
      clock,
      database: 0,
      subscribe: (_channel, subscribed) => {
        channel = subscribed;
        return () => undefined;
      },
      channelsOf: () => [{ name: "channel" }],
      countsOf: () => Promise.resolve([count]),
      onNotification: (notification) => received.push(notification),
      onClosed: () => undefined,
    });
    const check = async (): Promise<void> => {
      clock.advance(CHECK_MS);
      await microtasksDone();
    };
    listener.watch(["l0"]);
    channel?.onSubscribed();
    await microtasksDone();
    await check();
    expect(received).to.have.length(1);
    count = 3;
    await check();
    expect(received).to.have.length(2);
    // Two notifications that do not arrive.
    count = 5;
    await check();
    await check();
    expect(received).to.have.length(3);
    expect(received.at(-1)).to.include({ partition: "l0", scanAll: true });
    await listener.close();
  });
});
