// The script of a worker with the clock before it: under an address of its own, where what it says can be read here, or
// with a word in the query that has the host put the clock there (isolation.py).
(() => {
  'use strict';
  const clock = self.__clock, { inWindow } = clock;
  const MARK = '__clock'; // the last word of the query

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

  function unmark(href = self.location.href) { // the address as the page gave it
    const address = new URL(href);
    address.search = address.search.replace(new RegExp(`[?&]${MARK}$`), '');
    Object.defineProperty(self, 'location', { value: address, configurable: true });
  }
  clock.scripts = { clocked, unmark };
})();
