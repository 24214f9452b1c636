// Chains of messages: they are over before time goes on, and one without an end lets it go on.
//
// The browser runs its least urgent task when no other waits, so a chain of any length has ended by then. Chains are
// counted in hops: one of the clock's own messages goes behind those of the page, as long as they follow one another.
(() => {
  'use strict';
  const { timeline, realm, native, inWindow, listen, nextTask, timers } = self.__clock;
  const { leaving, stamped } = self.__clock.ports;
  const MOST_HOPS = 5_000; // of a chain that takes no time; from then on each hop takes HOP_MS until the page rests
  const HOP_MS = 1;
  const LONGEST_MS = 5_000, AGAIN_MS = 50; // real; of other tasks that follow one another without an end
  timeline.messages ??= createMessages();
  const { count, hop, hold, isSlow } = timeline.messages;

  function createMessages() {
    let hops = 0, follows = false, more = false; // follows: a message of the clock is on its way
    let held = 0, longest = LONGEST_MS;
    const isSlow = () => hops > MOST_HOPS;
    const count = (more) => { hops += more; };
    async function hop() {
      more = true;
      if (follows) return;
      follows = true;
      while (more) {
        more = false;
        await nextTask();
        hops += 1;
        timeline.ran += 1;
      }
      follows = false;
    }
    function hold(send, owner) {
      held += 1;
      timers.add(() => { held -= 1; send(); hop(); }, owner, HOP_MS);
    }
    timeline.rest = async () => {
      await new Promise((resolve) => {
        const end = (next) => { longest = next; resolve(); };
        const late = native.setTimeout(end, longest, AGAIN_MS);
        native.postTask(() => { native.clearTimeout(late); end(LONGEST_MS); }, { priority: 'background' });
      });
    };
    const rests = () => !held && timeline.inbox.due() === Infinity &&
      [...timeline.children].every(({ due }) => due > timeline.now);
    timeline.settled = () => { if (rests()) hops = 0; };
    return { count, hop, hold, isSlow };
  }

  // `send` at once or, in a chain that has no end, later; what is sent is what it was when it was posted.
  function along(send, data, options) {
    const moved = [...(Array.isArray(options) ? options : options?.transfer ?? [])];
    moved.forEach(leaving);
    if (!isSlow()) {
      send(data, moved);
      hop();
      return;
    }
    const copy = structuredClone({ data, moved }, { transfer: moved });
    hold(() => send(copy.data, copy.moved), realm);
  }
  function chained(prototype, given = (port, data) => data) {
    const { postMessage } = prototype;
    prototype.postMessage = { postMessage(...values) {
      if (!values.length) postMessage.call(this); // tells what is wrong
      along((data, moved) => postMessage.call(this, given(this, data), moved), ...values);
    } }.postMessage;
  }
  chained(MessagePort.prototype, stamped);
  if (self.Worker) chained(self.Worker.prototype);
  if (inWindow) listen(self, 'message', (event) => { // who sends it has to be the page itself
    const { isTrusted, data, origin, source, ports } = event;
    if (!isTrusted) return;
    if (!isSlow()) { hop(); return; }
    event.stopImmediatePropagation();
    const copy = new MessageEvent('message', { data, origin, source, ports: [...ports] });
    hold(() => self.dispatchEvent(copy), realm);
  }, true);
  if (self.scheduler?.yield) {
    const { yield: pass } = Scheduler.prototype;
    Scheduler.prototype.yield = { yield() {
      if (isSlow()) return new Promise((resolve) => { hold(resolve, realm); });
      count(1); // it comes before messages
      return pass.call(this);
    } }.yield;
  }
  Object.assign(self.__clock, { hold, isSlow, along });
})();
