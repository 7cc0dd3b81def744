export { foldEvery, foldReads, readStateColumns, readStateOf, startReading, startReadingAll } from './read-states.ts'
