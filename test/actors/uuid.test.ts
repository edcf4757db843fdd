import { expect } from "chai";
import { LOWER_UUID, UUID, UUID_PATTERN } from "../../actors/uuid.js";

const ID = "6f9619ff-8b86-4011-b42d-00c04fc964ff";

describe("the patterns of a UUID", () => {
  it("match the whole text, in either case or in lower case only", () => {
    expect([UUID.test(ID), LOWER_UUID.test(ID)]).to.deep.equal([true, true]);
    expect([UUID.test(ID.toUpperCase()), LOWER_UUID.test(ID.toUpperCase())]).to.deep.equal([true, false]);
    for (const text of ["", `${ID} `, ` ${ID}`, `${ID}0`, ID.slice(1), ID.replaceAll("-", ""), `${ID}\n`]) {
      expect([UUID.test(text), LOWER_UUID.test(text)], text).to.deep.equal([false, false]);
    }
  });

  it("fit into a longer pattern", () => {
    expect(new RegExp(`^market:${UUID_PATTERN}$`).test(`market:${ID}`)).to.equal(true);
  });
});
