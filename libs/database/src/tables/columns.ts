/** Epoch milliseconds. `bigint` columns are read as numbers, since all of ours stay below 2^53. */
export type Moment = number
