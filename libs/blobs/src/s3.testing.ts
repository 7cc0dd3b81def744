import { createHash, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createReadStream, createWriteStream } from 'node:fs'
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { ListObjectsV2Command } from '@aws-sdk/client-s3'
import type { Config } from '@parley/config'
import S3rver, { type Upload } from 's3rver'
import { connect } from './s3-store.ts'

export type S3Settings = Config['storage']['s3']

export interface ObjectStore {
  settings: S3Settings
  /** The names of all objects, in order. */
  names(): Promise<string[]>
  /** Stops the server and keeps its objects. */
  interrupt(): Promise<void>
  resume(): Promise<void>
  /** Stops the server and deletes its objects. */
  stop(): Promise<void>
}

/** An object store that speaks S3, in this process, with the bucket `files`. */
export async function startObjectStore(): Promise<ObjectStore> {
  const root = await mkdtemp(join(tmpdir(), 'parley-s3-'))
  const [directory, arriving] = [join(root, 'objects'), join(root, 'arriving')]
  await mkdir(arriving)
  const start = async (port: number) => {
    const configureBuckets = [{ name: 'files', configs: [] }]
    const server = new S3rver({ address: '127.0.0.1', port, silent: true, directory, configureBuckets })
    server.store.putObject = (object) => putWhole(server.store, object, join(arriving, randomUUID()))
    return { server, port: (await server.run()).port }
  }
  let running: Awaited<ReturnType<typeof start>> | undefined = await start(0)
  const { port } = running
  const settings = settingsOf(port)
  const store: ObjectStore = {
    settings,
    async names() {
      const client = connect(settings)
      const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket: settings.bucket }))
      client.destroy()
      return Contents.map(({ Key }) => Key!).sort()
    },
    async interrupt() {
      await running?.server.close()
      running = undefined
    },
    async resume() {
      running ??= await start(port)
    },
    async stop() {
      await store.interrupt()
      await rm(root, { recursive: true, force: true })
    },
  }
  return store
}

/** Stores an object like S3, which shows only complete objects. s3rver itself shows incomplete ones. */
async function putWhole(store: S3rver['store'], { bucket, key, content, metadata }: Upload, arriving: string) {
  await pipeline(content, createWriteStream(arriving))
  const hash = createHash('md5')
  let size = 0
  for await (const bytes of createReadStream(arriving)) {
    hash.update(bytes)
    size += bytes.length
  }
  const path = store.getResourcePath(bucket, key, 'object')
  const md5 = hash.digest('hex')
  await mkdir(dirname(path), { recursive: true })
  await store.putMetadata(bucket, key, metadata, md5)
  await rename(arriving, path)
  return { size, md5 }
}

/** A server that refuses every request as S3 does, with this code. s3rver does not verify signatures or rights. */
export async function startRefusingStore(status: number, code: string) {
  const seen: string[] = []
  const server = createServer((request, response) => {
    seen.push(`${request.method} ${request.url}`)
    request.resume().once('end', () => {
      response.writeHead(status, { 'content-type': 'application/xml' })
      response.end(`<?xml version="1.0"?><Error><Code>${code}</Code><Message>no</Message></Error>`)
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    seen,
    settings: settingsOf((server.address() as AddressInfo).port),
    async stop() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

const settingsOf = (port: number): S3Settings => ({
  endpoint: `http://127.0.0.1:${port}`,
  region: 'us-east-1',
  bucket: 'files',
  keyPrefix: 'parley/',
  accessKeyId: 'S3RVER',
  secretAccessKey: 'S3RVER',
  forcePathStyle: true,
})
