// Filters the cards by words and tags, plays clips, and copies commands.
"use strict";

const cards = [...document.querySelectorAll("article")];
const texts = new Map(
  cards.map((card) => [card, `${card.dataset.tags} ${card.textContent}`.toLowerCase()]),
);
const words = document.getElementById("words");
const tags = [...document.querySelectorAll(".tags button")];
const count = document.getElementById("count");

function filter() {
  const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
  const chosen = tags.filter((b) => b.ariaPressed === "true").map((b) => b.dataset.tag);
  let shown = 0;
  for (const card of cards) {
    const has = card.dataset.tags.split(" ");
    const matches =
      wanted.every((word) => texts.get(card).includes(word)) &&
      chosen.every((tag) => has.includes(tag));
    card.hidden = !matches;
    shown += matches;
  }
  count.textContent = `${shown} of ${cards.length} tasks`;
}

words.addEventListener("input", filter);
for (const button of tags) {
  button.addEventListener("click", () => {
    const pressed = button.ariaPressed === "true";
    const group = button.closest("[data-one]"); // of which one at most is chosen
    for (const other of group?.querySelectorAll("button") ?? []) other.ariaPressed = "false";
    button.ariaPressed = String(!pressed);
    filter();
  });
}
document.querySelector("search").hidden = false;
words.value = new URLSearchParams(location.search).get("q") ?? words.value;
filter();

// A clip takes the place of its picture while it is pointed at or has the focus.
const still = matchMedia("(prefers-reduced-motion: reduce)");
for (const link of document.querySelectorAll("a.picture")) {
  const image = link.querySelector("img");
  const picture = image.getAttribute("src");
  const play = () => {
    if (!still.matches) image.src = link.dataset.clip;
  };
  const stop = () => {
    if (!link.matches(":hover, :focus")) image.src = picture;
  };
  for (const begin of ["pointerenter", "focus"]) link.addEventListener(begin, play);
  for (const end of ["pointerleave", "blur"]) link.addEventListener(end, stop);
}

for (const command of document.querySelectorAll(".command")) {
  const text = command.textContent;
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Copy";
  button.ariaLabel = `Copy "${text}"`;
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(command.querySelector("code"));
    }
    setTimeout(() => (button.textContent = "Copy"), 1500);
  });
  command.append(button);
}
