import { S3ServiceException } from '@aws-sdk/client-s3'
import { unavailable } from '@parley/contract'

/** What callers of a request are told when the object store fails them: 503, with the cause for the log. */
export const storageAway = (cause: unknown) =>
  Object.assign(unavailable('Files cannot be reached right now. Please try again'), { cause })

export const isMissing = (error: unknown) => codeOf(error) === 'NoSuchKey'

export const isBeyondEnd = (error: unknown) => codeOf(error) === 'InvalidRange'

export interface Place {
  bucket: string
  endpoint: string
}

/** A sentence for the operator: what to put right. */
export function explain(error: unknown, { bucket, endpoint }: Place): Error {
  const fault = faults[codeOf(error) ?? ''] ?? `the object store at ${endpoint} does not answer as it should`
  const detail = error instanceof Error ? ` (${error.name}: ${error.message || 'no message'})` : ''
  return new Error(`${fault.replaceAll('BUCKET', bucket).replaceAll('ENDPOINT', endpoint)}${detail}`, { cause: error })
}

const faults: Record<string, string> = {
  NoSuchBucket: 'the bucket "BUCKET" does not exist at ENDPOINT: create it or correct storage.s3.bucket',
  InvalidAccessKeyId: 'storage.s3.accessKeyId is not known at ENDPOINT',
  SignatureDoesNotMatch: 'storage.s3.secretAccessKey does not belong to the access key (or storage.s3.region is wrong)',
  AccessDenied:
    'the access key may not use the bucket "BUCKET": it needs s3:GetObject, s3:PutObject, s3:DeleteObject and s3:ListBucket',
  PermanentRedirect: 'the bucket "BUCKET" is in another region or at another endpoint than configured',
  AuthorizationHeaderMalformed: 'storage.s3.region is not the region of the bucket "BUCKET"',
  RequestTimeTooSkewed: 'the clock of this machine and that of ENDPOINT are too far apart',
  CredentialsProviderError: 'no credentials were found: set storage.s3.accessKeyId and storage.s3.secretAccessKey',
  ECONNREFUSED: 'nothing listens at ENDPOINT',
  ENOTFOUND:
    'the host name of ENDPOINT (with the bucket in front of it, unless storage.s3.forcePathStyle) is not known',
}

function codeOf(error: unknown): string | undefined {
  if (error instanceof S3ServiceException) return error.name
  const { code, name } = error as { code?: unknown; name?: string }
  return typeof code === 'string' ? code : name
}
