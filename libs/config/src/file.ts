import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { basename, extname, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Faults } from './faults.ts'
import { isTree, type Layer, layerOfTree } from './layers.ts'

const extensions = ['.json', '.js', '.mjs', '.ts']

/**
 * Reads the configuration file: the named one, else `parley.config.{json,js,mjs,ts}` in `cwd`, else none. A module's
 * default export is the tree. Messages say where a file is invalid but never quote it, because it may contain secrets.
 */
export async function readConfigFile(named: string | undefined, cwd: string, faults: Faults): Promise<Layer> {
  const candidates = extensions.map((extension) => resolve(cwd, `parley.config${extension}`))
  const [path, second] = named ? [resolve(cwd, named)] : candidates.filter((candidate) => existsSync(candidate))
  if (!path) return new Map()
  const fault = (message: string) => faults.push({ key: 'config', message })

  const source = basename(path)
  if (second) fault(`${source} and ${basename(second)} are both there: keep one, or name one with --config`)
  else if (!extensions.includes(extname(path))) fault(`${source} must end in ${extensions.join(', ')}`)
  else if (!existsSync(path)) fault(`there is no file ${path}`)
  else {
    try {
      const tree = extname(path) === '.json' ? await readJson(path) : await importDefault(path)
      if (isTree(tree)) return layerOfTree(tree, source, faults)
      fault(`${source} must ${extname(path) === '.json' ? 'hold' : 'export by default'} an object`)
    } catch (error) {
      fault(`${source} cannot be loaded: ${describeFailure(error, path)}`)
    }
  }
  return new Map()
}

async function readJson(path: string): Promise<unknown> {
  const text = (await readFile(path, 'utf8')).replace(/^\uFEFF/, '')
  try {
    return JSON.parse(text)
  } catch {
    throw new NotJson(text)
  }
}

class NotJson extends Error {
  readonly position: Position

  constructor(text: string) {
    super('not JSON')
    this.position = positionOfJsonError(text)
  }
}

const importDefault = async (path: string): Promise<unknown> =>
  (await import(/* @vite-ignore */ pathToFileURL(path).href)).default

/** The kind of error and its position, without the error's message, which may quote the file. */
function describeFailure(error: unknown, path: string): string {
  if (!(error instanceof Error)) return 'it throws a value that is not an Error'
  const isJson = error instanceof NotJson
  const kind = isJson ? 'it is not valid JSON' : ((error as NodeJS.ErrnoException).code ?? error.name)
  const position = isJson ? error.position : positionIn(error.stack ?? '', path)
  if (!position) return kind
  return `${kind} at line ${position.line}${position.column ? `, column ${position.column}` : ''}`
}

function positionIn(stack: string, path: string): Partial<Position> | undefined {
  const at = stack.indexOf(`${basename(path)}:`)
  if (at < 0) return undefined
  const [, line, column] = /^(\d+)(?::(\d+))?/.exec(stack.slice(at + basename(path).length + 1)) ?? []
  return line === undefined ? undefined : { line: Number(line), ...(column && { column: Number(column) }) }
}

interface Position {
  line: number
  column: number
}

/**
 * The position, counted from 1, at which a text is not JSON any more: the first character that is not allowed, the
 * beginning of a malformed string, or the end of an incomplete text. Node's own message sometimes has no position, and
 * it quotes the text.
 */
function positionOfJsonError(text: string): Position {
  const before = text.slice(0, offsetOfJsonError(text))
  return { line: before.split('\n').length, column: before.length - before.lastIndexOf('\n') }
}

function offsetOfJsonError(text: string): number {
  let at = 0
  const take = (form: RegExp): boolean => {
    form.lastIndex = at
    if (!form.test(text)) return false
    at = form.lastIndex
    return true
  }
  const space = () => take(/[ \t\r\n]*/y)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: JSON forbids exactly these in strings
  const string = () => take(/"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*"/y)
  const member = () => string() && space() && take(/:/y) && value()

  function value(): boolean {
    space()
    if (take(/\{/y)) return list(member, /\}/y)
    if (take(/\[/y)) return list(value, /\]/y)
    return string() || take(/-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y)
  }

  function list(item: () => boolean, end: RegExp): boolean {
    space()
    if (take(end)) return true
    do {
      space()
      if (!item()) return false
      space()
    } while (take(/,/y))
    return take(end)
  }

  if (value()) space()
  return at
}
