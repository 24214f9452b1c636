// Whether anything has changed of which the browser tells with one of its own frames: `close`, `select`, `resize`, a
// query of media, sizes, intersections, what is under a still mouse. A callback that did so is followed by such a frame.
//
// Most of it changes the tree of a document, which a MutationObserver sees; the rest are a few calls, and what is
// looked at after each callback. A page that draws on a canvas alone changes nothing.
(() => {
  'use strict';
  const { timeline, realm, listen, method, getter } = self.__clock;
  const { apply } = Reflect;
  timeline.changed = true; // a new document
  const change = () => { timeline.changed = true; };

  // ---- trees ----
  const getAttributeNS = method(Element, 'getAttributeNS'), observe = method(MutationObserver, 'observe');
  const matters = ({ type, target, attributeName, attributeNamespace, oldValue }) =>
    type !== 'attributes' || getAttributeNS(target, attributeNamespace, attributeName) !== oldValue;
  const observer = new MutationObserver((records) => {
    for (let index = 0; !timeline.changed && index < records.length; index++) if (matters(records[index])) change();
  });
  const everything = {
    subtree: true, childList: true, characterData: true, attributes: true, attributeOldValue: true,
  };
  const observeTree = (root) => observe(observer, root, everything);
  let observed = null; // the window may be handed to another document
  function observeDocument() {
    if (observed === document) return;
    observed = document;
    observeTree(document);
    change();
  }
  observeDocument();

  // ---- calls and properties that leave the tree as it is ----
  function noted(owner, ...names) {
    for (const name of names) {
      const own = owner && Object.getOwnPropertyDescriptor(owner.prototype, name);
      if (!own?.configurable) continue;
      const { value, set } = own;
      if (value) own.value = { [name](...values) { change(); return apply(value, this, values); } }[name];
      if (set) own.set = { [name](given) { change(); apply(set, this, [given]); } }[name];
      Object.defineProperty(owner.prototype, name, own);
    }
  }
  const SELECTION = ['select', 'setSelectionRange', 'setRangeText', 'selectionStart', 'selectionEnd',
    'selectionDirection'];
  noted(HTMLInputElement, ...SELECTION, 'value', 'valueAsNumber', 'valueAsDate', 'stepUp', 'stepDown', 'checked',
    'indeterminate', 'setCustomValidity');
  noted(HTMLTextAreaElement, ...SELECTION, 'value', 'setCustomValidity');
  noted(HTMLSelectElement, 'value', 'selectedIndex', 'setCustomValidity');
  noted(HTMLOptionElement, 'selected');
  noted(HTMLElement, 'showPopover', 'hidePopover', 'togglePopover');
  noted(CSSStyleSheet, 'insertRule', 'deleteRule', 'addRule', 'removeRule', 'replace', 'replaceSync');
  noted(self.StyleSheet, 'disabled');
  noted(self.CSSGroupingRule, 'insertRule', 'deleteRule');
  noted(self.CSSKeyframesRule, 'appendRule', 'deleteRule');
  noted(self.MediaList, 'mediaText', 'appendMedium', 'deleteMedium');
  noted(CSSStyleDeclaration, 'setProperty', 'removeProperty', 'cssText');
  noted(self.CustomStateSet, 'add', 'delete', 'clear');
  for (const tree of [Document, ShadowRoot]) noted(tree, 'adoptedStyleSheets');
  for (const rule of [self.CSSStyleRule, self.CSSKeyframeRule]) { // who asks for the style of a rule may write to it
    const own = Object.getOwnPropertyDescriptor(rule.prototype, 'style'), { get } = own;
    own.get = function () { change(); return apply(get, this, []); };
    Object.defineProperty(rule.prototype, 'style', own);
  }
  // What input does by itself, and what has come.
  for (const type of ['input', 'change', 'load', 'error', 'toggle', 'mouseover', 'mouseout']) {
    listen(document, type, change, true);
  }

  // ---- what is looked at: where the window is, what is selected, what a key may have scrolled ----
  const ofWindow = ['scrollX', 'scrollY', 'innerWidth', 'innerHeight'].map((name) => {
    const { get } = Object.getOwnPropertyDescriptor(self, name);
    return () => apply(get, self, []);
  });
  const activeElement = getter(Document, 'activeElement');
  const getSelection = method(Document, 'getSelection'), elementFromPoint = method(Document, 'elementFromPoint');
  const ofSelection = ['anchorNode', 'anchorOffset', 'focusNode', 'focusOffset'].map((name) =>
    getter(Selection, name));
  const texts = [HTMLInputElement, HTMLTextAreaElement].map((kind) =>
    [kind, ['selectionStart', 'selectionEnd'].map((name) => getter(kind, name))]);
  const offsets = ['scrollLeft', 'scrollTop'].map((name) => getter(Element, name));
  let scrollers = []; // [element, left, top], of those that the last key may scroll
  const whereIs = (element) => offsets.map((offset) => offset(element));
  listen(self, 'keydown', (event) => {
    scrollers = event.composedPath().filter((one) => one instanceof Element).flatMap((one) => [one, ...whereIs(one)]);
  }, { capture: true, passive: true });
  function state() {
    const active = activeElement(document), selection = getSelection(document);
    const found = [...ofWindow.map((read) => read()), active];
    if (selection) for (const read of ofSelection) found.push(read(selection));
    for (const [kind, reads] of texts) if (active instanceof kind) for (const read of reads) found.push(read(active));
    return found;
  }
  let before = [];
  // Whether it is another state than when it was last looked at.
  realm.look = () => {
    observeDocument();
    const now = state();
    const differs = now.length !== before.length || now.some((value, index) => value !== before[index]);
    before = now;
    const scrolled = scrollers.some((one, index) => index % 3 === 0 &&
      whereIs(one).some((offset, side) => offset !== scrollers[index + 1 + side]));
    if (scrolled) scrollers = [];
    return differs || scrolled;
  };

  // ---- what is under the mouse, for what moves without a callback ----
  let mouse = null, under = null;
  listen(self, 'mousemove', ({ isTrusted, clientX, clientY, target }) => {
    if (isTrusted) [mouse, under] = [{ x: clientX, y: clientY }, target];
  }, { capture: true, passive: true });
  listen(document, 'mouseout', ({ isTrusted, relatedTarget }) => {
    if (isTrusted && relatedTarget === null) mouse = null;
  }, { capture: true, passive: true });
  realm.passes = () => {
    if (!mouse) return false;
    const last = under;
    under = elementFromPoint(document, mouse.x, mouse.y);
    return under !== last;
  };
  Object.assign(self.__clock, { change, noted, observeTree });
})();
