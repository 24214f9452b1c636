// Message ports that lead to a worker or to a frame of another origin, or come from there: what goes over them are letters.
//
// They are counted at both ends: before time goes on, all that was sent has come. A message to a port that nobody listens
// to never does, and is given up when nothing else moves.
(() => {
  'use strict';
  const { timeline, native, inWindow, listen } = self.__clock;
  const { sealed, isLetter, arrive, arriveUnsealed, isOurs } = self.__clock.letters;
  const GREETING = '__clock greeting';
  timeline.ports ??= { far: new WeakSet(), sent: 0, received: 0, lost: 0 };
  const { ports } = timeline;
  const ends = new WeakMap(); // port that the page made -> the other one

  function adopt(port) {
    port.addEventListener('message', (event) => {
      event.ports.forEach(arrived);
      if (!event.isTrusted) return;
      if (isLetter(event.data)) {
        ports.received += 1;
        ports.far.add(port);
        if (event.data.data?.[GREETING]) event.stopImmediatePropagation();
        else arrive(event);
      } else if (ports.far.has(port)) {
        arriveUnsealed(event);
      }
    });
  }
  function arrived(port) {
    if (ports.far.has(port)) return;
    adopt(port);
    ports.far.add(port);
  }
  // Nobody sees that a window of another origin is given a port: the port says so to its other end.
  function greet(port) {
    ports.sent += 1;
    native.postMessage.call(port, sealed({ [GREETING]: true }));
  }
  function leaving(port) {
    if (ends.has(port)) ports.far.add(ends.get(port));
  }
  function stamped(port, data) {
    if (!ports.far.has(port)) return data;
    ports.sent += 1;
    return sealed(data);
  }

  // Of this timeline and of those that follow it.
  const totals = () => [...timeline.children ?? []].reduce((sum, { ports: { sent, received } }) =>
    ({ sent: sum.sent + sent, received: sum.received + received }), { sent: ports.sent, received: ports.received });

  const Native = self.MessageChannel;
  self.MessageChannel = new Proxy(Native, { construct(target, values, as) {
    const channel = Reflect.construct(target, values, as), { port1, port2 } = channel;
    ends.set(port1, port2);
    ends.set(port2, port1);
    [port1, port2].forEach(adopt);
    return channel;
  } });
  Native.prototype.constructor = self.MessageChannel;
  listen(self, 'message', ({ ports: given, source, isTrusted }) => {
    given.forEach(arrived);
    if (inWindow && isTrusted && !isOurs(source)) given.forEach(greet);
  }, true);
  self.__clock.ports = { arrived, leaving, stamped, totals };
})();
