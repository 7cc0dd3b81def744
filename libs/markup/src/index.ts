export * from './document.ts'
export { emojiForm } from './inlines.ts'
export * from './parse.ts'
