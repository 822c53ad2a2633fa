import { element, replace } from './dom.js';
export function timeline(root) { replace(root, element('h2', {}, 'Timeline')); return { show() {} }; }
