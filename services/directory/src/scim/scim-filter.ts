import { scimRefusal } from '@parley/service'
import { type RawBuilder, sql } from 'kysely'
import { type Filter, parse } from 'scim2-parse-filter'

/** The column of an attribute, and how a filter compares it. Every value of a filter becomes a parameter of the statement. */
export interface FilterAttribute {
  /** `exact` is text that is compared as it is, `time` epoch milliseconds. */
  kind: 'text' | 'exact' | 'boolean' | 'time'
  column: RawBuilder<unknown>
}

const longest = 2_000
/** A text in quotation marks, `true`, `false` or `null`. */
const constant = /"(?:[^"\\]|\\.)*"|\b(?:true|false|null)\b/gis
const coreSchema = /^urn:ietf:params:scim:schemas:core:2\.0:\w+:/i

/**
 * A filter of RFC 7644, 3.4.2.2, as a condition of SQL. The keys of `attributes` are the names of the filterable
 * attributes, in lower case.
 * @throws ProtocolRefusal 400 invalidFilter for other attributes, and for a text that is not a filter.
 */
export function compileFilter(text: string, attributes: Record<string, FilterAttribute>): RawBuilder<boolean> {
  if (text.length > longest) throw invalidFilter(`filter is longer than ${longest} characters`)
  // The parser reads escapes in its own way, so it gets the numbers of the texts. It reads constants only in lower case.
  const texts: string[] = []
  const numbered = text.replaceAll(constant, (found) =>
    found.startsWith('"') ? `"${texts.push(readText(found)) - 1}"` : found.toLowerCase(),
  )
  let filter: Filter
  try {
    filter = parse(numbered)
  } catch {
    throw invalidFilter('The filter has a form that is not allowed')
  }
  return compile(filter, '')

  function compile(part: Filter, within: string): RawBuilder<boolean> {
    switch (part.op) {
      case 'and':
      case 'or': {
        const separator = part.op === 'and' ? sql` and ` : sql` or `
        return sql<boolean>`(${sql.join(
          part.filters.map((each) => compile(each, within)),
          separator,
        )})`
      }
      case 'not':
        return sql<boolean>`(not coalesce(${compile(part.filter, within)}, false))`
      case '[]':
        return compile(part.valFilter, `${nameOf(part.attrPath)}.`)
      default:
        return compare(
          find(within + nameOf(part.attrPath)),
          part.op,
          'compValue' in part ? constantOf(part.compValue) : null,
        )
    }
  }

  function constantOf(value: Value): Value {
    return typeof value === 'string' ? texts[Number(value)]! : value
  }

  function find(name: string): FilterAttribute {
    if (!Object.hasOwn(attributes, name)) throw invalidFilter(`${name} is not an attribute that can be filtered by`)
    return attributes[name]!
  }
}

/**
 * The text of a constant, which is written as in JSON. Some directories write a backslash as it is, such as in
 * `"DOMAIN\bob"`. A text that would not be JSON, or would have a control character, is read in that way.
 */
function readText(quoted: string): string {
  try {
    const text: string = JSON.parse(quoted)
    if (!/\p{Cc}/u.test(text)) return text
  } catch {}
  return quoted.slice(1, -1).replaceAll('\\"', '"')
}

const nameOf = (path: string) => path.replace(coreSchema, '').toLowerCase()
const invalidFilter = (detail: string) => scimRefusal(400, detail, 'invalidFilter')

type Value = string | number | boolean | null

function compare({ kind, column }: FilterAttribute, op: string, value: Value): RawBuilder<boolean> {
  if (op === 'pr') return sql<boolean>`(${column} is not null)`
  if (value === null) {
    if (op === 'eq') return sql<boolean>`(${column} is null)`
    if (op === 'ne') return sql<boolean>`(${column} is not null)`
    throw invalidFilter('null can only be compared by eq and ne')
  }
  if (kind === 'boolean') return compareBoolean(column, op, value)
  if (kind === 'time') return compareTime(column, op, value)
  if (typeof value !== 'string') throw invalidFilter('The filter compares text with something else')
  return kind === 'exact'
    ? compareText(sql`${column}`, op, sql`${value}::text`)
    : compareText(sql`lower(${column})`, op, sql`lower(${value}::text)`)
}

function compareText(left: RawBuilder<unknown>, op: string, right: RawBuilder<unknown>): RawBuilder<boolean> {
  switch (op) {
    case 'eq':
      return sql<boolean>`(${left} = ${right})`
    case 'ne':
      return sql<boolean>`(${left} is distinct from ${right})`
    case 'co':
      return sql<boolean>`(strpos(${left}, ${right}) > 0)`
    case 'sw':
      return sql<boolean>`starts_with(${left}, ${right})`
    case 'ew':
      return sql<boolean>`(right(${left}, length(${right})) = ${right})`
    default:
      return sql<boolean>`(${left} collate "C" ${order(op)} ${right} collate "C")`
  }
}

function compareBoolean(column: RawBuilder<unknown>, op: string, value: Value): RawBuilder<boolean> {
  // Some directories write true as "True".
  const wanted = typeof value === 'string' ? { true: true, false: false }[value.toLowerCase()] : value
  if (typeof wanted !== 'boolean' || (op !== 'eq' && op !== 'ne')) {
    throw invalidFilter('true and false can only be compared by eq and ne')
  }
  return sql<boolean>`(${column} = ${op === 'eq' ? wanted : !wanted}::boolean)`
}

function compareTime(column: RawBuilder<unknown>, op: string, value: Value): RawBuilder<boolean> {
  const time = typeof value === 'string' ? Date.parse(value) : Number.NaN
  if (Number.isNaN(time)) throw invalidFilter('A time must be written as in ISO 8601')
  if (op === 'eq') return sql<boolean>`(${column} = ${time}::bigint)`
  if (op === 'ne') return sql<boolean>`(${column} <> ${time}::bigint)`
  return sql<boolean>`(${column} ${order(op)} ${time}::bigint)`
}

function order(op: string): RawBuilder<unknown> {
  switch (op) {
    case 'gt':
      return sql`>`
    case 'ge':
      return sql`>=`
    case 'lt':
      return sql`<`
    case 'le':
      return sql`<=`
    default:
      throw invalidFilter(`${op} cannot be used with this attribute`)
  }
}
