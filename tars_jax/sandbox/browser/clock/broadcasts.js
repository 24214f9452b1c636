// Broadcasts: a message to the channels of one name in all documents and workers of one origin, as tasks of this timeline
// and as letters to the others. The browser's own would come by chance.
(() => {
  'use strict';
  const { timeline, realm, native, living, inTask, along } = self.__clock;
  const { tellOthers } = self.__clock.children;
  const Native = self.BroadcastChannel;
  const own = (name) => Object.getOwnPropertyDescriptor(Native.prototype, name).get;
  const nameOf = own('name'), origin = self.origin === 'null' ? `null ${native.random()}` : self.origin;
  timeline.broadcasts ??= createBroadcasts();
  const { channels, spread } = timeline.broadcasts;

  function createBroadcasts() {
    const channels = []; // {realm, channel, name, origin, hear(data, origin)}
    const last = new Map(); // timeline -> the number of the last broadcast that came from there: it may come by two ways
    // `from`: the channel, or what is told nothing as it comes from there.
    function spread(cast, from) {
      if (cast.id !== timeline.id) {
        if (last.get(cast.id) >= cast.number) return;
        last.set(cast.id, cast.number);
      }
      inTask(living(channels).filter((one) => one.channel !== from && one.name === cast.name && one.origin === cast.origin)
        .map((one) => () => { if (channels.includes(one)) one.hear(cast.data, cast.shown); }));
      timeline.tellOthers(cast, from);
    }
    return { channels, spread };
  }

  self.BroadcastChannel = class extends Native {
    constructor(name) {
      super(name);
      channels.push({ realm, channel: this, name: nameOf.call(this), origin, hear: (data, shown) => {
        let copy;
        try { copy = structuredClone(data); } catch (unreadable) {
          this.dispatchEvent(new MessageEvent('messageerror', { origin: shown }));
          return;
        }
        this.dispatchEvent(new MessageEvent('message', { data: copy, origin: shown }));
      } });
    }
    postMessage(...values) {
      if (!values.length || !channels.some(({ channel }) => channel === this)) {
        super.postMessage(...values); // tells what is wrong
        return;
      }
      const { id } = timeline, name = nameOf.call(this), data = structuredClone(values[0]);
      const cast = { id, number: ++timeline.said, name, origin, shown: self.origin, data };
      along(() => spread(cast, this), null);
    }
    close() {
      super.close();
      channels.splice(0, channels.length, ...channels.filter(({ channel }) => channel !== this));
    }
  };
  Object.defineProperty(self.BroadcastChannel, 'name', { value: 'BroadcastChannel' });
})();
