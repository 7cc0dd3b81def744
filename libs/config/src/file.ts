import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { basename, extname, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Position, whereJsonBreaks } from './json-position.ts'
import { type Faults, isTree, type Layer, layerOfTree } from './layers.ts'

const EXTENSIONS = ['.json', '.js', '.mjs', '.ts']

/**
 * Reads the configuration file: the one named, else `parley.config.{json,js,mjs,ts}` in `cwd`, else none.
 * A module's default export is the tree. Messages tell where a file breaks but quote nothing of it: it may hold secrets.
 */
export async function readConfigFile(named: string | undefined, cwd: string, faults: Faults): Promise<Layer> {
  const candidates = EXTENSIONS.map((extension) => resolve(cwd, `parley.config${extension}`))
  const [path, second] = named ? [resolve(cwd, named)] : candidates.filter((candidate) => existsSync(candidate))
  if (!path) return new Map()
  const fault = (message: string) => faults.push({ key: 'config', message })

  const source = basename(path)
  if (second) fault(`${source} and ${basename(second)} are both there: keep one, or name one with --config`)
  else if (!EXTENSIONS.includes(extname(path))) fault(`${source} must end in ${EXTENSIONS.join(', ')}`)
  else if (!existsSync(path)) fault(`there is no file ${path}`)
  else {
    try {
      const tree = extname(path) === '.json' ? await readJson(path) : await importDefault(path)
      if (isTree(tree)) return layerOfTree(tree, source, faults)
      fault(`${source} must ${extname(path) === '.json' ? 'hold' : 'export by default'} an object`)
    } catch (error) {
      fault(`${source} cannot be loaded: ${whatBroke(error, path)}`)
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
    this.position = whereJsonBreaks(text)
  }
}

const importDefault = async (path: string): Promise<unknown> =>
  (await import(/* @vite-ignore */ pathToFileURL(path).href)).default

/** The kind of error and its place, without the message, which quotes the file. */
function whatBroke(error: unknown, path: string): string {
  if (!(error instanceof Error)) return 'it throws something that is no error'
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
