export * from './document.ts'
export { emojiForm } from './inlines.ts'
export { listLinks } from './links.ts'
export * from './parse.ts'
