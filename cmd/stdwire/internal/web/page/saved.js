import { element, replace } from './dom.js';
export function saved(root) { replace(root, element('h2', {}, 'Saved calls')); return { show() {} }; }
export function save() {}
