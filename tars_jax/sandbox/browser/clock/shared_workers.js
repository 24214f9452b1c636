// Shared workers follow the timeline of the documents that are connected to them, each over a link of its own.
//
// A document hands the worker a port for the clock as the first message of the page's own port. The clock listens there at
// once, and keeps what else comes until the worker's own script listens, if it ever does. Messages both ways are counted, as workers.js does for others.
(() => {
  'use strict';
  const clock = self.__clock;
  const { timeline, realm, inTask } = clock;
  const { castBy, casting, hearCast, createChild, ofClock, hear } = clock.children;
  const { clocked, unmark } = clock.scripts;
  const { start, follow } = clock.following;
  const { ATTACH } = clock.workers;
  const { arrived } = clock.ports;
  const { sealed, arrive } = clock.letters;
  const { SharedWorker } = self;
  const onmessage = Object.getOwnPropertyDescriptor(MessagePort.prototype, 'onmessage');

  // Calls `work` when the page or the worker begins to listen to a port.
  function whenHeard(port, work) {
    const { start: begin } = port;
    port.start = () => { begin.call(port); work(); };
    Object.defineProperty(port, 'onmessage', {
      get: () => onmessage.get.call(port),
      set(listener) { onmessage.set.call(port, listener); work(); },
    });
    return begin;
  }

  // ---- the document's side ----
  const scripts = new Map(); // address -> the same script with the clock before it: one worker for one address
  function script(address) {
    const { href } = new URL(address, self.location.href);
    if (!scripts.has(href)) scripts.set(href, clocked(href));
    return scripts.get(href);
  }
  if (SharedWorker) {
    self.SharedWorker = class extends SharedWorker {
      constructor(address, ...options) {
        super(script(address), ...options);
        const { port } = this, { port1, port2 } = new MessageChannel();
        const { now, seed, round } = timeline, started = { now, seed, round };
        let hears = false; // the page listens
        const child = createChild(timeline.workers++, realm.alive, true, () => hears);
        const { reset: resetWith } = child;
        child.reset = (now, ofChild, seed) => resetWith(now, seed); // the same over each link
        child.cast = (cast) => port1.postMessage(casting(cast));
        port1.onmessage = () => child.attach(ofClock(port1));
        this.addEventListener('error', () => child.end(), { once: true });
        port.addEventListener('message', (event) => {
          if (!event.isTrusted) return;
          event.ports.forEach(arrived);
          child.heard();
          hear(event, child);
        });
        port.postMessage({ [ATTACH]: port2, started }, [port2]);
        const { postMessage, close } = port;
        Object.assign(port, {
          postMessage(data, ...values) {
            postMessage.call(port, sealed(data), ...values);
            child.sent += 1;
          },
          close() { child.end(); close.call(port); },
        });
        whenHeard(port, () => { hears = true; });
      }
    };
    Object.defineProperty(self.SharedWorker, 'name', { value: 'SharedWorker' });
  }

  // ---- the worker's side ----
  if (!('onconnect' in self)) return;
  unmark();
  // Its chance is its own, and hangs on no order in which documents connect.
  const own = [...`${self.location.href}\n${self.name}`].reduce((sum, character) =>
    (Math.imul(sum, 31) + character.codePointAt(0)) | 0, 7);
  const links = new Set();
  function connect(port, started) {
    const link = { port, posted: 0, received: 0, wake() {} };
    if (!links.size) {
      const { now, round, seed } = started;
      start({ now, round, seed: (seed ^ own) >>> 0, path: `/c${self.location.href}\n${self.name}` });
    }
    links.add(link);
    port.onmessage = ({ data }) => {
      if (data.cast) { hearCast(data, link, ''); return; }
      const told = data.seed === undefined ? data : { seed: (data.seed ^ own) >>> 0, path: timeline.path };
      follow(told, {
        async has(sent) { while (link.received < sent) await new Promise((resolve) => { link.wake = resolve; }); },
        answer: ({ due, active }) => port.postMessage({ due, posted: link.posted, active }),
      });
    };
    port.postMessage({});
    return link;
  }
  castBy((cast, from) => { for (const link of links) if (link !== from) link.port.postMessage(casting(cast)); });
  self.addEventListener('connect', ({ ports: [port] }) => {
    let link = null, early = 0; // messages that it posts before it has the clock's port
    let hears = false;
    const kept = []; // messages for who does not listen yet
    port.addEventListener('message', (event) => {
      const { data: { [ATTACH]: handed, started }, ports, origin, isTrusted } = event;
      if (!isTrusted) return;
      if (handed) {
        event.stopImmediatePropagation();
        link = connect(ofClock(handed), started);
        link.posted = early;
        return;
      }
      ports.forEach(arrived);
      link.received += 1;
      const told = (data) => {
        const tell = () => port.dispatchEvent(new MessageEvent('message', { data, origin, ports: [...ports] }));
        if (hears) tell();
        else kept.push(tell);
      };
      if (hears) hear(event, link);
      else arrive(event, { child: link, told });
      link.wake();
    });
    const begin = whenHeard(port, () => {
      hears = true;
      inTask(kept.splice(0));
    });
    begin.call(port);
    const { postMessage, close } = port;
    Object.assign(port, {
      postMessage(data, ...values) {
        postMessage.call(port, sealed(data), ...values);
        if (link) link.posted += 1;
        else early += 1;
      },
      close() {
        if (link) Object.assign(link, { received: Infinity }).wake();
        close.call(port);
      },
    });
  }, true);
  const close = self.close.bind(self);
  self.close = function () {
    for (const { port, posted } of links) port.postMessage({ closed: true, posted });
    close();
  };
})();
