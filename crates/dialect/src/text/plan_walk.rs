//! Walks over DataFusion's plans and expressions, in place of DataFusion's own. Those are compiled anew for each
//! closure that they are called with, which is more than a hundred functions for a plan with its subqueries. Here a
//! closure is a trait object, so that there is one walk for each type of node.

#![expect(clippy::disallowed_methods, reason = "this file owns the walks")]

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::{Expr, LogicalPlan};

/// Walks over any tree: plans without their subqueries, and expressions. Each method does what DataFusion's method of
/// that name does.
pub trait DynWalk: TreeNode {
    /// Like `TreeNode::apply`.
    fn dyn_apply<'n>(
        &'n self,
        mut each: impl FnMut(&'n Self) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        self.apply(&mut each as &mut dyn FnMut(&'n Self) -> Result<TreeNodeRecursion>)
    }

    /// Like `TreeNode::exists`.
    fn dyn_exists(&self, mut is_it: impl FnMut(&Self) -> Result<bool>) -> Result<bool> {
        self.exists(&mut is_it as &mut dyn FnMut(&Self) -> Result<bool>)
    }

    /// Like `TreeNode::transform_up`.
    fn dyn_transform_up(self, mut each: impl FnMut(Self) -> Result<Transformed<Self>>) -> Result<Transformed<Self>> {
        self.transform_up(&mut each as &mut dyn FnMut(Self) -> Result<Transformed<Self>>)
    }

    /// Like `TreeNode::transform_down`.
    fn dyn_transform_down(self, mut each: impl FnMut(Self) -> Result<Transformed<Self>>) -> Result<Transformed<Self>> {
        self.transform_down(&mut each as &mut dyn FnMut(Self) -> Result<Transformed<Self>>)
    }
}

impl<N: TreeNode> DynWalk for N {}

/// Walks over a plan with its subqueries, and over the expressions of one step. Each method does what DataFusion's
/// method of that name does.
pub trait DynPlanWalk: Sized {
    /// Like `LogicalPlan::apply_expressions`.
    fn dyn_apply_expressions(&self, each: impl FnMut(&Expr) -> Result<TreeNodeRecursion>) -> Result<TreeNodeRecursion>;

    /// Like `LogicalPlan::map_expressions`.
    fn dyn_map_expressions(
        self,
        each: impl FnMut(Expr) -> Result<Transformed<Expr>>,
    ) -> Result<Transformed<LogicalPlan>>;

    /// Like `LogicalPlan::apply_with_subqueries`.
    fn dyn_apply_with_subqueries(
        &self,
        each: impl FnMut(&LogicalPlan) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion>;

    /// Like `LogicalPlan::transform_up_with_subqueries`.
    fn dyn_transform_up_with_subqueries(
        self,
        each: impl FnMut(LogicalPlan) -> Result<Transformed<LogicalPlan>>,
    ) -> Result<Transformed<LogicalPlan>>;

    /// Like `LogicalPlan::transform_down_with_subqueries`.
    fn dyn_transform_down_with_subqueries(
        self,
        each: impl FnMut(LogicalPlan) -> Result<Transformed<LogicalPlan>>,
    ) -> Result<Transformed<LogicalPlan>>;
}

impl DynPlanWalk for LogicalPlan {
    fn dyn_apply_expressions(
        &self,
        mut each: impl FnMut(&Expr) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        self.apply_expressions(&mut each as &mut dyn FnMut(&Expr) -> Result<TreeNodeRecursion>)
    }

    fn dyn_map_expressions(
        self,
        mut each: impl FnMut(Expr) -> Result<Transformed<Expr>>,
    ) -> Result<Transformed<LogicalPlan>> {
        self.map_expressions(&mut each as &mut dyn FnMut(Expr) -> Result<Transformed<Expr>>)
    }

    fn dyn_apply_with_subqueries(
        &self,
        mut each: impl FnMut(&LogicalPlan) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        self.apply_with_subqueries(&mut each as &mut dyn FnMut(&LogicalPlan) -> Result<TreeNodeRecursion>)
    }

    fn dyn_transform_up_with_subqueries(
        self,
        mut each: impl FnMut(LogicalPlan) -> Result<Transformed<LogicalPlan>>,
    ) -> Result<Transformed<LogicalPlan>> {
        self.transform_up_with_subqueries(&mut each as &mut dyn FnMut(LogicalPlan) -> Result<Transformed<LogicalPlan>>)
    }

    fn dyn_transform_down_with_subqueries(
        self,
        mut each: impl FnMut(LogicalPlan) -> Result<Transformed<LogicalPlan>>,
    ) -> Result<Transformed<LogicalPlan>> {
        self.transform_down_with_subqueries(
            &mut each as &mut dyn FnMut(LogicalPlan) -> Result<Transformed<LogicalPlan>>,
        )
    }
}
