export {
  foldedText,
  listMessageIdsBelow,
  type MessageChanges,
  readChanges,
  readUnindexed,
  type Searchable,
  selectSearchable,
  selectUnindexed,
  type Unindexed,
  type UnindexedRow,
} from './message-changes.ts'
export { foldedFurther, foldParts, foldText, searchGrams, withoutPiles } from './search-text.ts'
