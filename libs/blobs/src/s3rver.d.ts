/** Types for the part of s3rver that the tests use. The package has none. */
declare module 's3rver' {
  import type { Readable } from 'node:stream'

  export interface Upload {
    bucket: string
    key: string
    content: Readable
    metadata: Record<string, string>
  }

  export default class S3rver {
    constructor(options: {
      address: string
      port: number
      silent: boolean
      directory: string
      configureBuckets: { name: string; configs: string[] }[]
    })
    store: {
      putObject(upload: Upload): Promise<{ size: number; md5: string }>
      putMetadata(bucket: string, key: string, metadata: Upload['metadata'], md5: string): Promise<void>
      getResourcePath(bucket: string, key: string, resource: string): string
    }
    run(): Promise<{ address: string; port: number }>
    close(): Promise<void>
  }
}
