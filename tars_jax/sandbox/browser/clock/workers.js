// Workers follow the timeline of who made them, each over a port that it hands to its parent when it begins. Messages
// both ways are counted.
(() => {
  'use strict';
  const clock = self.__clock;
  const { timeline, realm, inWindow } = clock;
  const { arrived } = clock.ports;
  const { sealed } = clock.letters;
  const { PARENT, CAST, castBy, hear, ofClock, createChild, state } = clock.children;
  const { clocked, unmark } = clock.scripts;
  const { start, follow } = clock.following;
  const ATTACH = '__clock port';
  const { Worker } = self;

  // ---- the parent's side ----
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
        child.cast = (cast) => this.postMessage({ [CAST]: cast });
        this.addEventListener('message', (event) => {
          const { data, ports, isTrusted } = event, handed = isTrusted && data?.[ATTACH];
          if (handed) {
            event.stopImmediatePropagation();
            child.attach(ofClock(handed));
            return;
          }
          if (!isTrusted) return;
          ports.forEach(arrived);
          child.heard();
          hear(event, child);
        });
        this.addEventListener('error', () => { if (!child.begun()) child.end(); });
      }
      postMessage(data, ...values) {
        super.postMessage(sealed(data), ...values);
        childOf.get(this).sent += 1;
      }
      terminate() {
        super.terminate();
        timeline.inbox.drop(childOf.get(this));
        childOf.get(this).end();
      }
    };
    Object.defineProperty(self.Worker, 'name', { value: 'Worker' });
  }
  clock.workers = { ATTACH };

  // ---- the worker's side ----
  if (inWindow || !('postMessage' in self)) return;
  const { port1, port2: handed } = new MessageChannel(), port = ofClock(port1);
  const post = self.postMessage.bind(self);
  let posted = 0, received = 0, wake = () => {};
  castBy((cast) => self.postMessage({ [CAST]: cast }));
  port.onmessage = ({ data }) => follow(data, {
    async has(sent) { while (received < sent) await new Promise((resolve) => { wake = resolve; }); },
    answer: (reply) => port.postMessage({ ...reply, posted }),
  });
  const cut = self.name.lastIndexOf('\n');
  const { href, ...begun } = JSON.parse(self.name.slice(cut + 1));
  start(begun);
  Object.defineProperty(self, 'name', { value: self.name.slice(0, cut), configurable: true });
  unmark(href);
  post({ [ATTACH]: handed }, [handed]);
  self.addEventListener('message', (event) => {
    if (!event.isTrusted) return;
    received += 1;
    hear(event, PARENT);
    wake();
  });
  self.postMessage = function postMessage(data, ...values) { post(sealed(data), ...values); posted += 1; };
  const close = self.close.bind(self);
  self.close = function () { port.postMessage({ closed: true, posted }); close(); };
})();
