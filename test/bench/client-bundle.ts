import path from 'node:path'
import { gzipSync } from 'node:zlib'
import { rolldown } from 'rolldown'

const library = path.resolve(import.meta.dirname, '../../libs/client/src/index.ts')

/**
 * What every program needs that keeps a copy of the data. Where the copy is stored, and whether tabs share it, differs
 * from program to program and is not counted.
 */
export const coreNames = ['createClient', 'createSyncEngine', 'tokensInCookie', 'RequestFailed']
export const coreGoalBytes = 15 * 1024

/** The size of these exports of the library as a page loads them at its start: minified, with all they import, gzip. */
export async function bundledBytes(names: string[]): Promise<number> {
  const exported = names[0] === '*' ? '*' : `{ ${names.join(', ')} }`
  const bundle = await rolldown({
    input: 'entry',
    platform: 'browser',
    logLevel: 'silent',
    plugins: [
      {
        name: 'entry',
        resolveId: (source) => (source === 'entry' ? source : undefined),
        load: (id) => (id === 'entry' ? `export ${exported} from ${JSON.stringify(library)}` : undefined),
      },
    ],
  })
  // Annotations such as `/* @__PURE__ */` are only for bundlers: they are not in the bundle that a page loads.
  const { output } = await bundle.generate({ format: 'esm', minify: true, comments: false })
  await bundle.close()
  // Chunks that are loaded when they are needed, such as uploads with progress, are no part of the start.
  const [{ code }] = output
  return gzipSync(code, { level: 9 }).length
}
