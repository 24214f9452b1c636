// Where a picker is drawn: above all of the page, in a shadow tree that the page cannot see, and only while it is open.
//
// The platform's own windows differ from machine to machine, and no frame of the browser ends while one is open. One
// surface serves all documents of a timeline: it is in the top one, so that a frame does not clip it. The events of the
// mouse on it and of the keys while it is open are the picker's and not the page's.
(() => {
  'use strict';
  const { timeline, listen, controls } = self.__clock;
  const LOWEST = 56; // CSS pixels
  const STYLE = `
    :host { all: initial }
    * { box-sizing: border-box }
    main { background: #fff; border: 1px solid #767676; width: 100%; height: 100%; overflow: hidden; cursor: default;
      user-select: none; font: 12px/18px Arial, sans-serif; color: #000; text-align: start; white-space: pre }
    .off, .off * { color: #999 } .on, .on * { background: #1967d2 !important; color: #fff !important }`;
  const viewport = ['innerWidth', 'innerHeight'].map((name) => Object.getOwnPropertyDescriptor(self, name).get);
  timeline.surface ??= createSurface();
  const { surface } = timeline;

  function createSurface() {
    const { createElement } = Document.prototype, { attachShadow } = Element.prototype;
    const { showPopover } = HTMLElement.prototype;
    const sheet = new CSSStyleSheet();
    let shown = null; // {control, picker, host, root, main, place}

    // The box of an element in the window of the surface.
    function boxOf(element) {
      let { left, top, width, height } = element.getBoundingClientRect();
      for (let view = element.ownerDocument.defaultView; view !== self; view = view.parent) {
        const frame = view.frameElement, around = frame.getBoundingClientRect(), style = getComputedStyle(frame);
        const scale = frame.offsetWidth ? around.width / frame.offsetWidth : 1;
        left = around.left + (frame.clientLeft + parseFloat(style.paddingLeft) + left) * scale;
        top = around.top + (frame.clientTop + parseFloat(style.paddingTop) + top) * scale;
        [width, height] = [width * scale, height * scale];
      }
      return { left, top, width, height };
    }
    // Within what else is above the page, which would be closed by a press outside of it, or take no press there.
    function holder(control) {
      let element = control;
      for (let view = control.ownerDocument.defaultView; view !== self; view = view.parent) element = view.frameElement;
      for (; element; element = element.parentNode ?? element.host) {
        if (element instanceof Element && element.matches('dialog:modal, :popover-open')) return element;
      }
      return document.documentElement;
    }
    const usable = (control) => control.isConnected && control.ownerDocument.defaultView &&
      control.getClientRects().length > 0 && !control.matches(':disabled') && !control.readOnly;

    // Below the control, or above it where there is more room, and within the viewport.
    function put() {
      const { control, picker, host, main } = shown, [widest, highest] = viewport.map((get) => get.call(self));
      const box = boxOf(control), bottom = box.top + box.height;
      host.style.setProperty('width', 'max-content', 'important');
      host.style.setProperty('height', 'max-content', 'important');
      main.scrollTop = 0;
      const width = Math.min(widest, Math.ceil(Math.max(main.offsetWidth, picker.asWide ? box.width : 0)));
      host.style.setProperty('width', `${width}px`, 'important');
      const wanted = Math.min(main.offsetHeight, picker.highest ?? Infinity, highest);
      const below = highest - bottom, above = box.top, under = wanted <= below || below >= above;
      // Where there is too little room on both sides, a list is the shorter, and all else comes over the control.
      const room = picker.asWide ? Math.max(under ? below : above, Math.min(wanted, LOWEST)) : highest;
      const height = Math.min(wanted, Math.floor(room));
      const right = getComputedStyle(control).direction === 'rtl';
      const left = right ? box.left + box.width - width : box.left;
      const place = {
        left: Math.round(Math.max(0, Math.min(left, widest - width))),
        top: Math.round(Math.max(0, Math.min(under ? bottom : box.top - height, highest - height))),
        width, height,
      };
      for (const [name, value] of Object.entries(place)) host.style.setProperty(name, `${value}px`, 'important');
      shown.place = [box.left, box.top, box.width, box.height, widest, highest].join();
      picker.placed?.();
    }
    function close() {
      if (!shown) return null;
      const { control, picker, host } = shown;
      shown = null;
      host.remove();
      picker.closed?.();
      return control;
    }
    // `picker`: {build(main), mouse(type, at, event), key(event), asWide?, highest?, placed(), stale?(), closed?()}, `at`
    // being the element under the mouse that has data-at.
    function open(control, picker) {
      close();
      if (!usable(control)) return;
      sheet.replaceSync(STYLE + (picker.style ?? ''));
      const host = createElement.call(document, 'div');
      host.setAttribute('popover', 'manual');
      host.style.cssText = 'all: initial !important; position: fixed !important; inset: auto !important; ' +
        'margin: 0 !important; border: 0 !important; padding: 0 !important; display: block !important';
      const root = attachShadow.call(host, { mode: 'closed' });
      const main = createElement.call(document, 'main');
      root.adoptedStyleSheets = [sheet];
      root.append(main);
      shown = { control, picker, host, root, main };
      picker.build(main, (name, values = {}, ...children) => {
        const element = createElement.call(document, name);
        const { at, ...others } = values;
        if (at !== undefined) element.dataset.at = at;
        Object.assign(element, others);
        element.append(...children);
        return element;
      });
      holder(control).append(host);
      showPopover.call(host);
      put();
    }
    function refresh() {
      if (!shown) return;
      const [widest, highest] = viewport.map((get) => get.call(self));
      if (!usable(shown.control) || !shown.host.isConnected || shown.picker.stale?.()) { close(); return; }
      const { left, top, width, height } = boxOf(shown.control);
      if (shown.place !== [left, top, width, height, widest, highest].join()) put();
    }
    timeline.settlers.push(async () => { refresh(); });
    timeline.sources.push({ due: () => Infinity, run() {}, reset: close });
    const under = (event) => shown.root.elementFromPoint(event.clientX, event.clientY)?.closest('[data-at]') ?? null;
    return {
      open, close, put,
      get control() { return shown?.control ?? null; },
      get picker() { return shown?.picker ?? null; },
      holds: (event) => shown !== null && event.target === shown.host,
      mouse(event) { shown.picker.mouse(event.type, under(event), event); },
      wheel(event) {
        const over = shown.root.elementFromPoint(event.clientX, event.clientY);
        const box = over?.closest('.scrolls') ?? shown.main;
        box.scrollTop += event.deltaY;
      },
    };
  }

  // ---- whose an event is ----
  const MOUSE = ['pointerdown', 'mousedown', 'pointerup', 'mouseup', 'pointermove', 'mousemove', 'click', 'auxclick',
    'dblclick', 'contextmenu', 'pointerover', 'pointerout', 'mouseover', 'mouseout', 'pointerenter', 'pointerleave',
    'mouseenter', 'mouseleave', 'wheel', 'dragstart', 'selectstart', 'beforetoggle', 'toggle'];
  controls.pressed = null; // the control whose picker the last press closed
  for (const type of MOUSE) {
    listen(self, type, (event) => {
      if (surface.holds(event)) {
        event.stopImmediatePropagation();
        if (['mousedown', 'wheel', 'contextmenu', 'dragstart', 'selectstart'].includes(type)) event.preventDefault();
        if (['mousedown', 'mouseup', 'mousemove'].includes(type)) surface.mouse(event);
        if (type === 'wheel') surface.wheel(event);
      } else if (type === 'mousedown' && event.isTrusted) {
        controls.pressed = surface.close();
      } else if (type === 'wheel' && event.isTrusted) {
        surface.close();
      }
    }, { capture: true, passive: false });
  }
  for (const type of ['keydown', 'keypress', 'keyup']) {
    listen(self, type, (event) => {
      if (!event.isTrusted || !surface.picker) return;
      if (surface.picker.keys && !surface.picker.keys(event)) return; // which are the page's
      event.stopImmediatePropagation();
      event.preventDefault();
      if (type === 'keydown') surface.picker.key(event);
    }, true);
  }
  listen(self, 'blur', (event) => {
    if (event.composedPath()[0] === surface.control) surface.close();
  }, true);
  listen(self, 'pagehide', () => { if (surface.control?.ownerDocument === document) surface.close(); }, true);
})();
