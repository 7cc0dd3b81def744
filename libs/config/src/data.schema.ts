import { Type } from 'typebox'
import { HttpUrl, Switch, Text, UrlOf, WholeNumber } from './values.schema.ts'

export const DatabaseSettings = Type.Object({
  url: UrlOf(['postgresql:', 'postgres:'], { description: 'PostgreSQL to use.', usual: 'DATABASE_URL' }),
  poolSize: WholeNumber(1, 1000, { description: 'Connections one process opens at most.', default: 10 }),
})

export const RedisSettings = Type.Object({
  url: UrlOf(['redis:', 'rediss:'], { description: 'Redis to use.', usual: 'REDIS_URL' }),
})

export const Storage = Type.Object({
  store: Type.Enum(['postgresql', 's3'], { description: 'Where attachments and images lie.', default: 'postgresql' }),
  s3: Type.Object({
    endpoint: Type.Optional(HttpUrl({ description: 'Address of the object store. Default: AWS of that region.' })),
    region: Text({ description: 'Region of the bucket.', default: 'us-east-1' }),
    bucket: Type.Optional(Text({ description: 'Bucket, required for the store `s3`.' })),
    accessKeyId: Type.Optional(Text({ description: 'Access key. Default: the machine’s own identity.' })),
    secretAccessKey: Type.Optional(Text({ description: 'Secret of the access key.' })),
    keyPrefix: Type.String({
      description: 'What the names of all objects begin with, for a bucket that is shared; such as `parley/`.',
      default: '',
      pattern: '^([A-Za-z0-9][A-Za-z0-9._/-]*)?$',
      maxLength: 200,
      expects: 'letters, digits, `.`, `_`, `-` and `/`, without a slash at the start',
    }),
    forcePathStyle: Switch({ description: 'Bucket in the path instead of the host name (MinIO).', default: false }),
  }),
})
