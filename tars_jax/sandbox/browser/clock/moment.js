// The moment at which a document of another origin begins: its first script reads it, before its parent could tell it by
// a message. Whoever has such a document come tells the host its time (page_events.py), and the document asks the host.
//
// A policy of the page's own may forbid that, as may one of a frame: such a frame begins at 0, until its parent tells it.
(() => {
  'use strict';
  const clock = self.__clock;
  const { timeline, realm, inWindow } = clock;
  const { follows } = clock.letters;
  if (!inWindow) return;
  const fetch = self.fetch.bind(self), { open, send } = XMLHttpRequest.prototype; // those that nobody waits for
  const HOLDERS = 'iframe, frame, object, embed';
  timeline.told ??= null; // ms; what the host was last told

  function tell() {
    const { now, past, told } = timeline;
    if (now === told || (told === null && now === 0 && past === 0)) return;
    timeline.told = now;
    fetch(`${TELLER}?${now}`, { mode: 'no-cors' }).catch(() => {});
  }
  const holds = (node) => node instanceof Element && (node.matches(HOLDERS) || node.querySelector(HOLDERS) !== null);
  new MutationObserver((records) => {
    if (records.some(({ type, target, addedNodes }) => (type === 'attributes' ? holds(target) : [...addedNodes].some(holds)))) tell();
  }).observe(document, { childList: true, subtree: true, attributeFilter: ['src', 'srcdoc', 'data'] });

  // Whether the scripts of a document run: where a sandbox forbids them the clock's own is let in, but hears nothing.
  function isScripted() {
    const probe = document.createElement('div');
    try { probe.innerHTML = '<noscript><p></p></noscript>'; } catch (trustedTypes) { return true; }
    return probe.querySelector('p') === null;
  }
  const isFollowing = follows && isScripted();
  clock.moment = { tell, isFollowing };
  if (!isFollowing || location.href === 'about:blank') return;
  const request = new XMLHttpRequest();
  try {
    open.call(request, 'GET', TELLER, false);
    send.call(request);
  } catch (forbidden) { return; }
  timeline.now = timeline.until = timeline.told = realm.origin = Number(request.responseText) || 0;
})();
