//! A function over a frame without some rows, as DataFusion sees it.

use super::call::{Excluding, Inner};
use super::evaluator::Evaluator;
use datafusion::arrow::datatypes::FieldRef;
use datafusion::common::Result;
use datafusion::logical_expr::function::{PartitionEvaluatorArgs, WindowUDFFieldArgs};
use datafusion::logical_expr::{PartitionEvaluator, Signature, WindowUDFImpl};

impl WindowUDFImpl for Excluding {
    fn name(&self) -> &str {
        match &self.inner {
            Inner::Aggregate(aggregate) => aggregate.name(),
            Inner::FirstValue => "first_value",
            Inner::LastValue => "last_value",
            Inner::NthValue => "nth_value",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn partition_evaluator(&self, args: PartitionEvaluatorArgs) -> Result<Box<dyn PartitionEvaluator>> {
        let (exprs, fields) = (args.input_exprs().to_vec(), args.input_fields().to_vec());
        Ok(Box::new(Evaluator::new(self.clone(), exprs, fields)?))
    }

    fn field(&self, args: WindowUDFFieldArgs) -> Result<FieldRef> {
        self.result(args.input_fields(), args.name())
    }
}
