// One MiniWoB++ task behind the interface of our games: ?path=miniwob/click-button.html&width=500&height=320&success=1,
// where `success` is the least raw reward of one.
//
// The task's own page is a frame of the size of the window that the `miniwob` package opens, because menus and dialogs
// look for their place in it; our viewport shows the task's area of it. Every episode has a fresh document: what pages of
// the package keep from one episode to the next (the state of date pickers, counters) would tell them apart.
"use strict";

const query = new URLSearchParams(location.search);
const LEAST_SUCCESS = Number(query.get("success"));
let inner = null; // the window of the task's page

// Pictures arrive when the network brings them, which is not a moment of virtual time: an episode begins when all that its
// documents and style sheets name are there, those that show up later included.
const documents = () => [inner.document, ...Array.from(inner.frames, (child) => child.document)];
// What a style sheet names is asked for by the document that has the sheet, or it would come once more, and later.
const styled = (page) => [...page.styleSheets].flatMap((sheet) => {
  const names = [...sheet.cssRules].flatMap((rule) => [...rule.cssText.matchAll(/url\("([^"#]+)"\)/g)]);
  return names.map(([, name]) =>
    Object.assign(new page.defaultView.Image(), { src: new URL(name, sheet.href ?? page.baseURI) }));
});
let pictures = []; // kept, so that the browser keeps them
const picturesReady = () => {
  pictures = documents().flatMap((page) => [...page.images, ...styled(page)]);
  return Promise.all(pictures.map((picture) => picture.decode().catch(() => {})));
};

// mode: the package's split of the tasks that have one: train, test or default.
const start = async ({ seed, mode = "train" }) => {
  document.querySelector("iframe")?.remove();
  const frame = document.createElement("iframe");
  frame.width = query.get("width");
  frame.height = query.get("height");
  const loaded = new Promise((resolve) => frame.addEventListener("load", resolve));
  frame.src = `html/${query.get("path")}`;
  document.body.appendChild(frame);
  await loaded;
  inner = frame.contentWindow;
  inner.Math.seedrandom(seed);
  inner.core.setDataMode(mode);
  inner.core.startEpisodeReal();
  inner.core.cover_div.onclick = null; // it covers the task at its end, where a second click would begin another one
  inner.focus();
  if (!inner.WOB_TASK_READY) { // the frame of a flight search says so as it loads
    await new Promise((resolve) => inner.document.querySelector("iframe").addEventListener("load", resolve, { once: true }));
  }
  await picturesReady();
};

// Some tasks give {utterance, fields} instead of the words.
const utterance = () => {
  const said = inner.core.getUtterance();
  return said.utterance ?? said;
};

const state = () => ({
  utterance: utterance(),
  done: inner.WOB_DONE_GLOBAL,
  reward: inner.WOB_REWARD_GLOBAL,
  raw_reward: inner.WOB_RAW_REWARD_GLOBAL, // without the time factor
  reason: inner.WOB_REWARD_REASON ?? null,
  time_ms: performance.now(),
  limit_ms: inner.core.EPISODE_MAX_TIME,
  viewport: { width: innerWidth, height: innerHeight },
});

window.game = { start, state };
window.verify = () => {
  const { done, reward, raw_reward } = state();
  return { score: done ? reward : 0, level: 1, lives: done ? 0 : 1, done, success: done && raw_reward >= LEAST_SUCCESS };
};
