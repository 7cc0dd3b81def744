export * from './document.ts'
export * from './parse.ts'
export * from './plain-text.ts'
export { nameCandidates } from './references.ts'
