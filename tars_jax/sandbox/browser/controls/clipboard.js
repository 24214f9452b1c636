// A clipboard of the page's own: the browser's is one for all of its pages, and outlives an episode.
//
// The documents of a timeline share it. The browser's own events of copying, cutting and pasting stop here; the page gets
// others with this clipboard's data, and what they would do by default is done by editing commands. It is empty at each
// start, and a page may read it without being asked.
(() => {
  'use strict';
  const { timeline, listen, controls } = self.__clock;
  const { targetOf, focused, isActive } = controls;
  timeline.clipboard ??= createClipboard();
  const { clipboard } = timeline;
  const { execCommand } = Document.prototype;
  const isText = (element) => (element instanceof HTMLInputElement || element instanceof HTMLTextAreaElement) &&
    element.selectionStart !== undefined;

  function createClipboard() {
    const kept = { data: new Map(), selected: '' }; // type -> text or Blob; the last selection, which a middle click pastes
    const source = { due: () => Infinity, run() {}, reset() { kept.data = new Map(); kept.selected = ''; } };
    timeline.sources.push(source);
    return kept;
  }

  // ---- what is selected, and what may be edited ----
  const isField = (element) => isText(element) && typeof element.value === 'string' && element.selectionStart !== null;
  function selected() {
    const field = focused(), data = new Map();
    if (isField(field)) {
      if (field.type === 'password' || field.selectionStart === field.selectionEnd) return data;
      return data.set('text/plain', field.value.slice(field.selectionStart, field.selectionEnd));
    }
    if (field instanceof HTMLInputElement && /^(email|number)$/.test(field.type)) { // no offsets, but a selection
      const text = String(self.getSelection() ?? '');
      return text ? data.set('text/plain', text) : data;
    }
    const selection = self.getSelection();
    if (!selection?.rangeCount || selection.isCollapsed) return data;
    const box = document.createElement('div');
    box.append(selection.getRangeAt(0).cloneContents());
    return data.set('text/plain', String(selection)).set('text/html', box.innerHTML);
  }
  function editable() { // the element that takes what is pasted, or null
    const element = focused();
    if (element instanceof HTMLInputElement || element instanceof HTMLTextAreaElement) {
      return element.readOnly || element.matches(':disabled') ? null : element;
    }
    const anchor = self.getSelection()?.anchorNode;
    const at = anchor instanceof Element ? anchor : anchor?.parentElement;
    return at?.isContentEditable || document.designMode === 'on' ? at : null;
  }

  // ---- editing: the events that go with it say what was done ----
  let muted = false;
  for (const type of ['beforeinput', 'input', 'textInput']) {
    listen(self, type, (event) => { if (muted && event.isTrusted) event.stopImmediatePropagation(); }, true);
  }
  function edit(inputType, command, value, data, dataTransfer = null) {
    const target = editable(), rich = !(target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement);
    const values = { bubbles: true, composed: true, inputType, data: rich ? null : data, ...(rich && { dataTransfer }) };
    const host = rich ? target.closest('[contenteditable]') ?? target : target;
    if (!host.dispatchEvent(new InputEvent('beforeinput', { ...values, cancelable: true }))) return;
    muted = true;
    try { execCommand.call(document, command, false, value); } finally { muted = false; }
    host.dispatchEvent(new InputEvent('input', values));
  }
  function withoutScripts(html) {
    const { body } = new DOMParser().parseFromString(html, 'text/html');
    for (const one of body.querySelectorAll('*')) {
      if (/^(script|style|meta|link|iframe|object|embed|base)$/.test(one.localName)) one.remove();
      for (const { name, value } of [...one.attributes]) {
        if (/^on/i.test(name) || /^\s*javascript:/i.test(value)) one.removeAttribute(name);
      }
    }
    return body.innerHTML;
  }

  // ---- copy, cut and paste ----
  const transfer = (data) => {
    const given = new DataTransfer();
    for (const [type, value] of data) {
      if (typeof value === 'string') given.setData(type, value);
      else given.items.add(new File([value], `image.${type.split('/')[1]}`, { type }));
    }
    return given;
  };
  const read = (given) => new Map([...given.types].filter((type) => type !== 'Files')
    .map((type) => [type, given.getData(type)]));
  function tell(type, target, clipboardData) {
    const event = new ClipboardEvent(type, { bubbles: true, cancelable: true, composed: true, clipboardData });
    return target.dispatchEvent(event);
  }
  function copy(type, target) {
    const given = new DataTransfer();
    if (!tell(type, target, given)) {
      clipboard.data = read(given);
      return true;
    }
    const data = selected(), cuts = type === 'cut';
    if (!data.size || (cuts && !editable())) return false;
    clipboard.data = data;
    if (cuts) edit('deleteByCut', 'delete', null, null);
    return true;
  }
  function paste(target, { data = clipboard.data, plain = false } = {}) {
    if (!tell('paste', target, transfer(data)) || !editable()) return;
    const field = editable(), text = data.get('text/plain') ?? '', html = data.get('text/html');
    const rich = !(field instanceof HTMLInputElement || field instanceof HTMLTextAreaElement);
    const given = transfer(data);
    if (rich && html && !plain && !field.closest('[contenteditable=plaintext-only]')) {
      edit('insertFromPaste', 'insertHTML', withoutScripts(html), null, given);
    } else if (text) {
      const line = field instanceof HTMLInputElement ? text.replace(/\r\n|\r|\n/g, ' ') : text;
      edit('insertFromPaste', 'insertText', line, line, given);
    }
  }

  let withPlainText = false, byMiddle = false;
  listen(self, 'keydown', ({ isTrusted, key, ctrlKey, shiftKey }) => {
    if (isTrusted) [withPlainText, byMiddle] = [ctrlKey && shiftKey && key.toLowerCase() === 'v', false];
  }, true);
  function keepSelected() {
    const text = selected().get('text/plain');
    if (text) clipboard.selected = text;
  }
  for (const type of ['mousedown', 'mouseup', 'keyup']) {
    listen(self, type, (event) => {
      if (!event.isTrusted) return;
      if (type !== 'mouseup' || event.button !== 1) keepSelected();
      if (type !== 'keyup') byMiddle = event.button === 1;
    }, true);
  }
  for (const type of ['copy', 'cut', 'paste']) {
    listen(self, type, (event) => {
      if (!event.isTrusted) return;
      event.stopImmediatePropagation();
      event.preventDefault();
      const target = targetOf(event);
      if (type !== 'paste') copy(type, target);
      else if (byMiddle) paste(target, { data: new Map(clipboard.selected ? [['text/plain', clipboard.selected]] : []) });
      else paste(target, { plain: withPlainText });
    }, true);
  }
  // As the browser does: a page may copy and cut after an input, and never paste.
  Document.prototype.execCommand = { execCommand(name, ...values) {
    const command = String(name).toLowerCase();
    if (command === 'paste') return false;
    if (command !== 'copy' && command !== 'cut') return execCommand.call(this, name, ...values);
    if (this !== document || !isActive()) return false;
    const node = self.getSelection()?.anchorNode;
    const target = isText(focused()) ? focused() : (node instanceof Element ? node : node?.parentElement) ?? document.body;
    return copy(command, target);
  } }.execCommand;

  // ---- the asynchronous interface ----
  if (!self.Clipboard) return;
  const asBlob = (type, value) => (typeof value === 'string' ? new Blob([value], { type }) : value);
  Object.assign(Clipboard.prototype, {
    async readText() {
      const value = clipboard.data.get('text/plain');
      return typeof value === 'string' ? value : '';
    },
    async writeText(text) { clipboard.data = new Map([['text/plain', String(text)]]); },
    async read() {
      if (!clipboard.data.size) return [];
      const entries = [...clipboard.data].map(([type, value]) => [type, asBlob(type, value)]);
      return [new ClipboardItem(Object.fromEntries(entries))];
    },
    async write(items) {
      const data = new Map();
      for (const item of items) {
        for (const type of item.types) {
          const blob = await item.getType(type);
          data.set(type, /^text\//.test(type) ? await blob.text() : blob);
        }
      }
      clipboard.data = data;
    },
  });
  const { query } = Permissions.prototype;
  Permissions.prototype.query = { async query(descriptor) {
    const status = await query.call(this, descriptor);
    if (/^clipboard-/.test(descriptor?.name)) Object.defineProperty(status, 'state', { get: () => 'granted' });
    return status;
  } }.query;
})();
