import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync } from 'node:fs'
import path from 'node:path'
import type { BuiltImage } from './build.ts'
import { imageEnvironment, stages } from './dockerfile.ts'

export interface RunOptions {
  /** Replaces the entry point of the image. */
  entrypoint?: string[] | undefined
  command?: string[] | undefined
  environment?: Record<string, string> | undefined
  /** The real paths of the mounts in arguments and variables. */
  mounts?: Record<string, string>
  /** Runs it as the user of the tests, because it has to write. */
  asOwner?: boolean
  input?: string
}

export interface Container {
  /** Standard output and standard error so far. */
  readonly output: string
  /** The standard output so far. */
  readonly out: string
  readonly exit: Promise<number | null>
  kill(signal: NodeJS.Signals): void
}

/**
 * Runs a built image without a container engine: processes run as the image's user (if root runs the tests; otherwise
 * as the current user), on a read-only file system, with only the image's environment.
 */
export class Engine {
  #image: BuiltImage
  #programs: string
  #user: { uid?: number; gid?: number }
  #running = new Set<ChildProcess>()

  constructor(image: BuiltImage, directory: string) {
    this.#image = image
    this.#programs = path.join(directory, 'programs')
    mkdirSync(this.#programs)
    // Node of the base image, because that user may not be able to reach ours.
    cpSync(process.execPath, path.join(this.#programs, 'node'))
    execFileSync('chmod', ['-R', 'a-w', image.directory])
    const [uid, gid] = declared('USER').split(':').map(Number)
    this.#user = process.getuid?.() === 0 ? { uid: uid!, gid: gid! } : {}
  }

  start({ entrypoint, command = [], environment = {}, mounts = {}, asOwner, input }: RunOptions): Container {
    const { PATH, ...own } = imageEnvironment()
    const mounted = (text: string) => {
      const mount = Object.keys(mounts).find((place) => text === place || text.startsWith(`${place}/`))
      return mount === undefined ? text : mounts[mount] + text.slice(mount.length)
    }
    const [program, ...args] = [...(entrypoint ?? this.#image.entrypoint), ...command].map(mounted)
    const variables = Object.entries({ ...own, ...environment }).map(([name, value]) => [name, mounted(value)])
    const child = spawn('/usr/bin/env', [program!, ...args], {
      ...(!asOwner && this.#user),
      cwd: this.#image.workingDirectory,
      env: { ...Object.fromEntries(variables), PATH: this.#pathOf(PATH!) },
    })
    this.#running.add(child)
    child.stdin.on('error', () => {})
    child.stdin.end(input)
    const written = { both: '', out: '' }
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      written.both += text
      written.out += text
    })
    child.stderr.setEncoding('utf8').on('data', (text: string) => (written.both += text))
    return {
      get output() {
        return written.both
      },
      get out() {
        return written.out
      },
      exit: once(child, 'close').then(([code]) => {
        this.#running.delete(child)
        return code as number | null
      }),
      kill: (signal) => void child.kill(signal),
    }
  }

  /** Runs a program until it ends. */
  async run(options: RunOptions): Promise<{ code: number | null; out: string; output: string }> {
    const container = this.start(options)
    const code = await container.exit
    return { code, out: container.out, output: container.output }
  }

  /** The health check of the image, for a process with another port than in a container. */
  async healthCheck(port: number): Promise<number | null> {
    const [, command] = /CMD (\[.*\])/.exec(declared('HEALTHCHECK'))!
    const entrypoint = (JSON.parse(command!) as string[]).map((word) =>
      word.replace(`:${imageEnvironment().PORT}/`, `:${port}/`),
    )
    return (await this.run({ entrypoint })).code
  }

  /** Ends the running processes, so that the image can be removed. */
  close() {
    for (const child of this.#running) child.kill('SIGKILL')
    execFileSync('chmod', ['-R', 'u+w', this.#image.directory])
  }

  #pathOf(path: string) {
    return path
      .replace('$PATH', `${this.#programs}:/usr/bin:/bin`)
      .replaceAll(/(?<=:|^)\/app/g, this.#image.workingDirectory)
  }
}

/** The last instruction with a keyword in the stage of the final image. */
const declared = (keyword: string) => stages.at(-1)!.steps.findLast((step) => step.keyword === keyword)!.argument
