// Timelines of their own that follow this one: workers (workers.js, shared_workers.js), and frames of another origin
// (windows.js); what each of them does in its turn is in following.js.
//
// A child tells its parent when it begins. Before time goes on, there are rounds as long as any child has something to do:
// one child after another is told the time, runs what is due, hears the letters of earlier rounds (letters.js) and says
// when it wants to be followed again; all that was sent in a round has come before the next one. So messages between
// documents and workers have exact virtual times and one order, and what a worker computes takes no time.
//
// A worker has a port of its own for that, and messages are counted. A frame's words go the way that its page's own
// messages go, as messages of windows, so that neither overtakes the other: what came before it is told a time, came in
// time for it. Who may have been sent such a message, or a message over a shared worker's port, cannot be counted: those
// are asked whenever something of the page has run.
(() => {
  'use strict';
  const clock = self.__clock;
  const { timeline, realm, native, next, nextTask } = clock;
  const { totals } = clock.ports;
  const { follows, moves, arrive, add } = clock.letters;
  const CAST = '__clock cast';
  const LOOKED_AFTER_MS = 50; // real
  const LOST_AFTER_MS = 50; // real; a message over a port that has not come by then has nobody who listens
  const HOPS = 10, HOP_MS = 1; // of a round, as messages.js counts them; and how long one takes in a chain without an end
  const LONGEST_START_MS = 20_000; // real; a worker that has not begun by then is not waited for
  const ofClock = (port) => Object.assign(port, { postMessage: native.postMessage }); // counted as nobody's
  const PARENT = {}; // where a letter comes from, beside the children

  const children = timeline.children ??= new Set();
  if (!timeline.leads) {
    timeline.leads = true;
    followAll.ofOthers = true;
    followAll.most = Infinity; // a chain has its bound in `notBefore`
    timeline.settlers.push(followAll);
    timeline.sources.push({
      due: () => Math.max(Math.min(Infinity, ...[...children].filter(isOpen).map((child) => child.due)), timeline.notBefore),
      async run() {}, // what was due runs as the children follow
      reset(now, seed) {
        timeline.workers = 0;
        timeline.notBefore = -Infinity;
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
  // Of children by their place, also where they are compared as text.
  const pathOf = (place) => `${timeline.path}/${place < 0 ? `a${String(-place).padStart(6, '0')}` : `b${String(place).padStart(6, '0')}`}`;
  const state = (place) => ({
    now: timeline.now, seed: childSeed(timeline.seed, place), path: pathOf(place), round: timeline.round,
    stands: follows ? timeline.stands : !timeline.moving,
  });

  const works = () => timeline.ran - timeline.idle;
  const isOpen = (child) => !follows || child.round !== timeline.round; // its turn in this round is still to come
  let quiet = null; // what had run when all who are not counted had last been asked
  // One round, or of who follows itself its part in one.
  async function followAll() {
    if (!follows && timeline.now < timeline.notBefore) return false;
    const came = !follows && await awaitPorts();
    const now = () => `${works()} ${timeline.turns}`;
    if (now() !== quiet) for (const child of children) child.asked ||= child.uncounted;
    quiet = now();
    const behind = inOrder().filter((child) => (isOpen(child) && child.behind()) || (timeline.asksAll && child.asked));
    if (!behind.length) return came;
    if (!follows) {
      timeline.round += 1;
      timeline.messages.count(HOPS);
      if (timeline.messages.isSlow()) timeline.notBefore = timeline.now + HOP_MS;
    }
    for (const child of behind) {
      child.round = timeline.round;
      await child.follow();
    }
    if (behind.some((child) => child.active)) quiet = null; // it may have told others
    return true;
  }
  function askAll() {
    timeline.asksAll = true; // those below them too
    for (const child of children) child.asked = true;
  }
  // Until all that was sent over ports has come, as twice the same is heard from everybody: an answer may be an old one.
  async function awaitPorts() {
    const whole = () => { const { sent, received } = totals(); return { sent, lost: sent - received }; };
    if (whole().lost === timeline.ports.lost) return false;
    let before = whole(), since = native.now(), again = true;
    while (again) {
      askAll();
      for (const child of inOrder()) await child.follow(); // in the same round: nobody hears anything new
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
  // `uncounted`: not all messages to and from it are counted.
  // `hears`: whether what it says is listened to, and so counted.
  function createChild(place, alive, uncounted = false, hears = () => true) {
    let port = null, missed = null; // a reset before it had begun
    let wake = () => {}, reply = null, told = -1; // told: how many messages it had when it last answered
    let since = null, over = false; // since: when it was first waited for
    const child = {
      place, due: Infinity, sent: 0, received: 0, // messages to the child and from it
      ports: { sent: 0, received: 0 }, // messages over ports of the page, and over those of its own children
      uncounted, asked: true,
      round: -1, active: false, // when it had its last turn, and whether anything ran in it
      cast() {}, stand() {}, // tells it of a broadcast, and a frame whether time stands
      begun: () => port !== null,
      attach(given) {
        port = given;
        port.onmessage = ({ data }) => {
          if (data.cast) { hearCast(data, child, pathOf(child.place)); return; }
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
        wake();
      },
      reset(now, seed) {
        child.due = Math.max(0, child.due - now);
        const anew = { seed, path: pathOf(child.place) };
        missed = port ? null : anew;
        port?.postMessage(anew);
      },
      behind: () => child.asked || child.due <= timeline.now || child.sent !== told || reply?.closed,
      async follow() {
        const heard = child.received;
        child.asked = false;
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
          port.postMessage({ to: timeline.now, sent: told, asked: timeline.asksAll, round: timeline.round });
        }
        await ready(() => reply && (child.received >= reply.posted || !hears()));
        if (reply?.closed) child.end();
        else if (reply) {
          const { due, active } = reply;
          Object.assign(child, { due, active: active || child.received !== heard, ports: reply.ports ?? child.ports });
        }
        if (uncounted || child.received !== heard) await nextTask(); // what it said where nobody moves time
      },
    };
    children.add(child);
    return child;
  }

  // When it wants to be followed again, be it for letters of this round.
  const dueOfAll = () => Math.min(next()?.time ?? Infinity, timeline.inbox.due(), ...[...children].map(({ due }) => due));
  const activeBelow = () => [...children].some(({ active, round }) => active && round === timeline.round);

  // ---- broadcasts from one to another ----
  // A letter between a page and a worker: a message, or a broadcast to be told on.
  function hear(event, from) {
    const cast = event.data.data?.[CAST];
    arrive(event, cast ? { told: () => timeline.broadcasts.spread(cast, from) } : { child: from });
  }
  // The same over a way that is the clock's own.
  const casting = (cast) => ({ cast, atOnce: !moves() });
  function hearCast({ cast, atOnce }, from, path) {
    const tell = () => timeline.broadcasts.spread(cast, from), at = follows ? Infinity : timeline.now;
    if (atOnce && !moves()) tell();
    else add({ at, round: timeline.round, from: path, number: ++timeline.said, realm, tell });
  }
  let castUp = () => {}; // tells the parent of a broadcast
  const castBy = (work) => { castUp = work; };
  timeline.tellOthers ??= (cast, from) => {
    for (const child of inOrder()) if (child !== from && child.begun()) child.cast(cast);
    if (from !== PARENT) castUp(cast, from);
  };

  // A frame hears what windows say at once while time stands.
  timeline.tellFrames ??= (stands) => {
    timeline.stands = stands;
    for (const child of children) child.stand(stands);
  };
  clock.children = {
    PARENT, CAST, castBy, casting, hearCast, hear, ofClock, createChild, state, pathOf, askAll, works, dueOfAll, activeBelow,
  };
})();
