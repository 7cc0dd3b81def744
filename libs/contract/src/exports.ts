/** Under which name a part of an export's compressed document lies among the blobs. A worker writes it, the admin service reads it. */
export const exportPartKey = ({ exportId, attempt, n }: { exportId: string; attempt: number; n: number }) =>
  `exports/${exportId}/${attempt}/${n}`
