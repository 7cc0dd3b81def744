export * from './document.ts'
export { nameCandidates } from './names.ts'
export * from './parse.ts'
export * from './plain-text.ts'
