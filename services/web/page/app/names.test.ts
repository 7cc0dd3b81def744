import { expect, test } from 'vitest'
import { findNamed } from './names.ts'

const find = (name: string, names: string[]) => findNamed(names, name, (each) => each)

test.each([
  ['josé', ['José', 'Josè'], 'José'],
  ['jose', ['José', 'Josè'], undefined],
  ['jose', ['Ann', 'José'], 'José'],
  ['Gross', ['Groß', 'gross'], 'gross'],
  ['Παπάς', ['ΠΑΠΑΣ', 'Παπαδάκης'], 'ΠΑΠΑΣ'],
  ['ΣΊΣ', ['σισ'], 'σισ'],
  ['Işık', ['IŞIK'], 'IŞIK'],
  ['ann', [], undefined],
])('%s among %j is %s', (name, names, found) => {
  expect(find(name, names)).toBe(found)
})
