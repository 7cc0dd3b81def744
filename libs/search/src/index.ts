export {
  foldMessage,
  listMessageIdsBelow,
  readChanges,
  readUnindexed,
  selectSearchable,
  selectUnindexed,
  type Unindexed,
  type UnindexedRow,
} from './message-changes.ts'
export { foldedFurther, foldParts, foldText, limitMarks, searchGrams } from './search-text.ts'
