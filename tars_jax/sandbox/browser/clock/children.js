// Timelines of their own that follow this one: workers, and frames of another origin.
//
// A child tells its parent when it begins. Before time goes on, the parent tells each child the time and waits until the
// child has run what was due, has handled the messages sent to it and has had its own messages handled here. So messages
// between documents and workers have exact virtual times, and what a worker computes takes none. Children are followed one
// after another, and what a worker says out of its turn is held until then: several answer in order, not by who is faster.
//
// A worker has a port of its own for that, and messages are counted. A frame's words go the way that its page's own
// messages go, as messages of windows, so that neither overtakes the other.
(() => {
  'use strict';
  const clock = self.__clock;
  const { timeline, realm, native, inWindow, listen, advanceTo, next, inTask, nextTask, reset } = clock;
  const { arrived, totals } = clock.ports;
  const ofClock = (port) => Object.assign(port, { postMessage: native.postMessage }); // counted as nobody's
  const ATTACH = '__clock port', SENT = '__clock sent', LINK = '__clock link';
  const MARK = '__clock'; // the last word of the query of a worker's address, see isolation.py
  const LOOKED_AFTER_MS = 50; // real
  const LOST_AFTER_MS = 50; // real; a message over a port that has not come by then has nobody who listens
  const LONGEST_START_MS = 20_000; // real; a worker that has not begun by then is not waited for
  const { Worker } = self;

  // ---- the parent's side ----
  const children = timeline.children ??= new Set();
  if (!timeline.leads) {
    timeline.leads = true;
    timeline.settlers.push(followAll, followPorts);
    timeline.sources.push({
      due: () => Math.min(Infinity, ...[...children].map((child) => child.due)),
      async run() {}, // what was due runs as the children follow
      reset(now, seed) {
        timeline.workers = 0;
        for (const child of inOrder()) {
          if (child.place >= 0) child.place = timeline.workers++;
          child.reset(now, childSeed(seed, child.place), seed);
        }
      },
    });
  }
  // Children are numbered by what the page did, not by when they arrived: workers 0, 1, ... as they were made since the
  // last reset, frames -2, -3, ... by their place in the document.
  timeline.workers ??= 0;
  const inOrder = () => [...children].sort((one, other) => one.place - other.place);
  const childSeed = (seed, place) => (seed ^ Math.imul(place + 1, 0x9e3779b9)) >>> 0;
  const state = (place) => ({ now: timeline.now, seed: childSeed(timeline.seed, place) });

  async function followAll() {
    if (timeline.now === timeline.until) for (const child of children) child.asked ||= child.uncounted;
    const behind = inOrder().filter((child) => child.behind());
    for (const child of behind) {
      timeline.followed = child;
      await child.follow();
    }
    timeline.followed = null;
    followAll.most = behind.some((child) => !child.uncounted) ? Infinity : undefined; // messages.js bounds a chain
    return behind.length > 0;
  }
  function askAll() {
    timeline.asksAll = true; // those below them too
    for (const child of children) child.asked = true;
  }
  // Until all that was sent over ports has come, as twice the same is heard from everybody: an answer may be an old one.
  async function followPorts() {
    const whole = () => { const { sent, received } = totals(); return { sent, lost: sent - received }; };
    if (whole().lost === timeline.ports.lost) return false;
    let before = whole(), since = native.now(), again = true;
    while (again) {
      askAll();
      await followAll();
      timeline.asksAll = false;
      await timeline.rest();
      const { sent, lost } = whole();
      const same = sent === before.sent && lost === before.lost;
      if (!same) since = native.now();
      before = { sent, lost };
      again = !same || (lost > 0 && native.now() - since < LOST_AFTER_MS);
    }
    timeline.ports.lost = before.lost;
    return true;
  }
  // `uncounted`: messages to and from it are not counted, so it is asked at each end of an advance.
  // `hears`: whether what it says is listened to, and so counted.
  function createChild(place, alive, uncounted = false, hears = () => true) {
    let port = null, missed = null; // a reset before it had begun
    let wake = () => {}, reply = null, told = -1; // told: how many messages it had when it last answered
    let since = null, over = false; // since: when it was first waited for
    const child = {
      place, due: Infinity, sent: 0, received: 0, // messages to the child and from it
      ports: { sent: 0, received: 0 }, // messages over ports of the page, and over those of its own children
      uncounted, asked: true,
      held: [], // what it said out of its turn, while time moved
      mayTell: () => !timeline.moving || timeline.followed === child || !children.has(child),
      begun: () => port !== null,
      attach(given) {
        port = given;
        port.onmessage = ({ data }) => {
          reply = data;
          wake();
        };
        if (missed) port.postMessage(missed);
        if (!over) children.add(child); // one that began late was given up
        wake();
      },
      heard() { child.received += 1; wake(); },
      end() {
        over = true;
        children.delete(child);
        for (const tell of child.held.splice(0)) tell();
        wake();
      },
      reset(now, seed) {
        child.due = Math.max(0, child.due - now);
        missed = port ? null : { seed };
        port?.postMessage({ seed });
      },
      behind: () => child.asked || child.due <= timeline.now || child.sent !== told ||
        child.held.length > 0 || reply?.closed,
      async follow() {
        const heard = child.received;
        child.asked = false;
        await inTask(child.held.splice(0));
        const ready = async (condition) => {
          while (children.has(child) && alive() && !condition()) {
            await new Promise((resolve) => {
              wake = resolve;
              if (uncounted) native.setTimeout(resolve, LOOKED_AFTER_MS); // nobody tells of a frame that goes
            });
          }
        };
        since ??= native.now();
        if (!port) native.setTimeout(() => wake(), LONGEST_START_MS);
        await ready(() => port || native.now() - since > LONGEST_START_MS);
        if (!port || !alive()) children.delete(child);
        if (!children.has(child)) { // the page's handlers of its end
          await nextTask();
          return;
        }
        if (!reply?.closed) {
          reply = null;
          told = child.sent;
          port.postMessage({ to: timeline.now, sent: told, asked: timeline.asksAll });
        }
        await ready(() => reply && (child.received >= reply.posted || !hears()));
        if (reply?.closed) child.end();
        else if (reply) Object.assign(child, { due: reply.due, ports: reply.ports ?? child.ports });
        if (uncounted || child.received !== heard) await nextTask(); // the page's handlers of what it said
      },
    };
    children.add(child);
    return child;
  }

  const blobs = new Map(); // address -> Blob
  const { createObjectURL, revokeObjectURL } = URL;
  URL.createObjectURL = function (object) {
    const address = createObjectURL.call(URL, object);
    if (object instanceof Blob) blobs.set(address, object);
    return address;
  };
  URL.revokeObjectURL = function (address) { blobs.delete(String(address)); revokeObjectURL.call(URL, address); };
  function dataOf(address) {
    const [, base64, text] = /^data:[^,]*?(;base64)?,(.*)$/s.exec(address);
    return base64 ? Uint8Array.from(atob(decodeURIComponent(text)), (c) => c.charCodeAt(0)) : decodeURIComponent(text);
  }
  // Nobody answers what a worker of a worker asks for (isolation.py), its own script neither.
  function textOf(address) {
    const request = new XMLHttpRequest();
    request.open('GET', address, false);
    request.send();
    return request.status === 200 ? request.responseText : undefined;
  }
  // The address of the same script with the clock before it.
  function clocked(address) {
    const { href, protocol } = new URL(address, self.location.href);
    const source = protocol === 'data:' ? dataOf(href) : inWindow || protocol === 'blob:' ? blobs.get(href) : textOf(href);
    if (source !== undefined) {
      return createObjectURL.call(URL, new Blob([clock.workerScript, '\n', source], { type: 'text/javascript' }));
    }
    const marked = new URL(href);
    marked.search += (marked.search ? '&' : '?') + MARK;
    return marked.href;
  }
  const childOf = new WeakMap(); // Worker -> its child
  if (Worker) {
    self.Worker = class extends Worker {
      constructor(address, options = {}) {
        const place = timeline.workers++;
        const { href } = new URL(address, self.location.href);
        const name = `${options.name ?? ''}\n${JSON.stringify({ ...state(place), href })}`;
        super(clocked(href), { ...options, name });
        const child = createChild(place, realm.alive);
        childOf.set(this, child);
        this.addEventListener('message', (event) => {
          const { data, ports } = event, handed = data?.[ATTACH];
          if (!handed) ports.forEach(arrived);
          if (!handed && child.mayTell()) { child.heard(); return; }
          event.stopImmediatePropagation();
          if (handed) child.attach(ofClock(handed));
          else child.held.push(() => this.dispatchEvent(new MessageEvent('message', { data, ports: [...ports] })));
        });
        this.addEventListener('error', () => { if (!child.begun()) child.end(); });
      }
      postMessage(data, ...values) {
        super.postMessage({ [SENT]: timeline.now, data }, ...values);
        childOf.get(this).sent += 1;
      }
      terminate() {
        super.terminate();
        childOf.get(this).held.length = 0;
        childOf.get(this).end();
      }
    };
    Object.defineProperty(self.Worker, 'name', { value: 'Worker' });
  }
  // What a port is to a worker, the windows' own messages are to a frame and its parent.
  const linked = new WeakMap(); // window at the other end -> { child, port }
  const linkTo = (other) => ({ onmessage() {}, postMessage(data) { other.postMessage({ [LINK]: data }, '*'); } });
  if (inWindow) listen(self, 'message', (event) => {
    const data = event.data?.[LINK];
    if (!data) return;
    event.stopImmediatePropagation();
    if (!data.begins) { linked.get(event.source)?.port.onmessage({ data }); return; }
    linked.get(event.source)?.child.end(); // of the document that was there before
    const frames = () => [...document.querySelectorAll('iframe')].map((one) => one.contentWindow);
    const place = -2 - frames().indexOf(event.source), port = linkTo(event.source);
    const child = createChild(place, () => frames().includes(event.source), true);
    linked.set(event.source, { child, port });
    child.attach(port);
    port.postMessage({ start: state(place) });
  }, true);

  // ---- the child's side ----
  function start({ now, seed }) {
    // what waits keeps what is left of it
    for (const source of timeline.sources) source.reset?.(timeline.now - now, seed);
    timeline.now = timeline.until = realm.origin = now;
    timeline.seed = timeline.random = seed;
  }
  function unmark(href = self.location.href) { // the address as the page gave it
    const address = new URL(href);
    address.search = address.search.replace(new RegExp(`[?&]${MARK}$`), '');
    Object.defineProperty(self, 'location', { value: address, configurable: true });
  }
  clock.children = { ATTACH, SENT, createChild, clocked, ofClock, start, unmark };
  const follows = inWindow ? timeline.first === realm && self.parent !== self : 'postMessage' in self;
  if (!follows) return;
  const { port1, port2: handed } = new MessageChannel();
  const port = inWindow ? linkTo(self.parent) : ofClock(port1);
  const post = inWindow ? null : self.postMessage.bind(self);
  let posted = 0, received = 0, wake = () => {};
  port.onmessage = async ({ data: { start: begun, seed, to, sent, asked } }) => {
    if (begun) { start(begun); return; }
    if (seed !== undefined) { reset(seed); return; }
    while (!inWindow && received < sent) await new Promise((resolve) => { wake = resolve; });
    if (asked) askAll();
    await advanceTo(to);
    timeline.asksAll = false;
    port.postMessage({ due: next()?.time ?? Infinity, posted, ports: totals() });
  };
  if (inWindow) {
    linked.set(self.parent, { port });
    port.postMessage({ begins: true });
    return;
  }
  const cut = self.name.lastIndexOf('\n');
  const { href, ...begun } = JSON.parse(self.name.slice(cut + 1));
  start(begun);
  Object.defineProperty(self, 'name', { value: self.name.slice(0, cut), configurable: true });
  unmark(href);
  post({ [ATTACH]: handed }, [handed]);
  self.addEventListener('message', (event) => {
    const { [SENT]: sent, data } = event.data;
    timeline.now = timeline.until = Math.max(timeline.now, sent);
    Object.defineProperty(event, 'data', { value: data });
    received += 1;
    wake();
  });
  self.postMessage = function postMessage(...values) { post(...values); posted += 1; };
  const close = self.close.bind(self);
  self.close = function () { port.postMessage({ closed: true, posted }); close(); };
})();
